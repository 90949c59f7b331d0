import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { needsDefaultModel } from '../../../playground/src/app/needsDefaultModel.ts';
import { parseGraph } from '../../../playground/src/document/graphDocument.ts';
import { noTypes, readGraphTypes } from '../../../playground/src/document/graphTypes.ts';
import { repositoryPath } from '../../helpers/server.ts';

const schema = JSON.parse(readFileSync(repositoryPath('graphs/graph.schema.json'), 'utf8')) as object;
const types = readGraphTypes(schema);

const answer = { type: 'Generate' };
const own = { type: 'Generate', params: { model_name: 'demo' } };
const line = { type: 'CannedResponse', params: { inline_strings: ['No.'] } };

it.each([
  ['a node with a model names none, and the graph neither', { nodes: { answer } }, true],
  ['one of two nodes names its own', { nodes: { own, answer } }, true],
  ['the graph names one', { default_model_name: 'demo', nodes: { answer } }, false],
  ['every node with a model names its own', { nodes: { own, line } }, false],
  ['no node has a model', { nodes: { line } }, false],
])('the page asks for a default model only where one is needed: %s', (_, graph, isNeeded) => {
  const parsed = parseGraph(JSON.stringify({ start_node: 'answer', ...graph })).graph;
  expect(needsDefaultModel(parsed, types)).toBe(isNeeded);
});

it('the page does not ask for a default model while it knows no graph and no node type', () => {
  expect(needsDefaultModel(undefined, types)).toBe(false);
  expect(needsDefaultModel(parseGraph(JSON.stringify({ nodes: { answer } })).graph, noTypes)).toBe(false);
});
