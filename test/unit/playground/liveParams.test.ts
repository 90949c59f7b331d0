import { describe, expect, it } from 'vitest';
import {
  currentValue,
  groupFields,
  isChanged,
  liveNodes,
  addChange,
  readInput,
  type LiveField,
} from '../../../playground/src/conversation/liveParams.ts';
import { parseGraph } from '../../../playground/src/document/graphDocument.ts';
import { readGraphTypes } from '../../../playground/src/document/graphTypes.ts';
import { editorSchema } from '../../../src/graph/compile/editorSchema.ts';
import { registryWith } from '../../../src/graph/nodes/index.ts';

const types = readGraphTypes(editorSchema(registryWith()));
const graphOf = (nodes: object) => {
  const { graph } = parseGraph(JSON.stringify({ nodes }));
  if (!graph) throw new Error('no graph');
  return graph;
};

describe('the live parameters of a graph', () => {
  it('are those that the server marks, and those of sampling one by one', () => {
    const [guard, answer] = liveNodes(graphOf({ guard: { type: 'Guardrail' }, answer: { type: 'Generate' } }), types);
    expect(guard).toMatchObject({ name: 'guard', fields: [{ path: ['string_storage'] }, { path: ['watch'] }] });
    const paths = answer?.fields.map(({ path }) => path.join('.'));
    expect(paths).toContain('sampling.temperature');
    expect(paths).toContain('hold');
    expect(paths).not.toContain('model_name');
    expect(paths).not.toContain('sampling');
  });

  it('are grouped by the parameter that they are members of', () => {
    const [node] = liveNodes(graphOf({ answer: { type: 'Generate' } }), types);
    const groups = groupFields(node?.fields ?? []);
    expect(groups.map(({ name }) => name)).toEqual([undefined, 'sampling', undefined]);
    expect(groups.flatMap(({ fields }) => fields)).toEqual(node?.fields);
  });

  it('are none of a node type that the server does not know', () => {
    expect(liveNodes(graphOf({ x: { type: 'Nothing' } }), types)).toEqual([]);
  });
});

describe('the value of a live parameter', () => {
  const field: LiveField = { path: ['sampling', 'temperature'], schema: { type: 'number' } };
  const hold: LiveField = { path: ['hold'], schema: { type: 'boolean', default: false } };

  it.each([
    [field, undefined, undefined, undefined, false],
    [field, { sampling: { temperature: 0.5 } }, undefined, 0.5, false],
    [field, { sampling: { temperature: 0.5 } }, { sampling: { top_k: 3 } }, 0.5, false],
    [field, { sampling: { temperature: 0.5 } }, { sampling: { temperature: 0.9 } }, 0.9, true],
    [field, { sampling: { temperature: 0.5 } }, { sampling: { temperature: 0.5 } }, 0.5, false],
    [field, { sampling: { temperature: 0.5 } }, { sampling: { temperature: null } }, undefined, true],
    [hold, undefined, undefined, false, false],
    [hold, { hold: true }, { hold: null }, false, true],
    [hold, undefined, { hold: null }, false, false],
  ])('%o of %o, changed by %o, is %o, and is changed: %s', (of, fromGraph, changed, value, isOther) => {
    expect(currentValue(of, fromGraph, changed)).toBe(value);
    expect(isChanged(of, fromGraph, changed)).toBe(isOther);
  });

  it('is merged one level deep with changes before', () => {
    const first = addChange({}, 'a', ['sampling', 'top_k'], 3);
    const second = addChange(first, 'a', ['sampling', 'temperature'], null);
    expect(addChange(second, 'b', ['hold'], true)).toEqual({
      a: { sampling: { top_k: 3, temperature: null } },
      b: { hold: true },
    });
  });

  it('replace an object that has no fields of its own', () => {
    const first = addChange({}, 'find', ['filter'], { kind: 'law' });
    expect(addChange(first, 'find', ['filter'], { place: 'abbey' })).toEqual({ find: { filter: { place: 'abbey' } } });
  });

  it.each([
    ['0.5', { type: 'number' }, 0.5],
    ['', { type: 'number' }, null],
    ['', { type: 'string' }, ''],
    ['null', { type: 'string' }, 'null'],
    ['off', { enum: ['off', 'prompt'] }, 'off'],
    ['', { enum: ['off', 'prompt'] }, null],
    ['[{"name":"x"}]', { type: 'array' }, [{ name: 'x' }]],
    ['auto', {}, 'auto'],
  ])('typed as %o for %o is %o', (text, of, value) => {
    expect(readInput(text, of)).toEqual(value);
  });

  it.each([
    ['hot', { type: 'number' }, '"hot" is no number'],
    ['[{', { type: 'array' }, 'this is no valid JSON'],
  ])('typed as %o for %o is refused', (text, of, message) => {
    expect(() => readInput(text, of)).toThrow(message);
  });
});
