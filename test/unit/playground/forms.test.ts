import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { exitNames, readGraphTypes } from '../../../playground/src/document/graphTypes.ts';
import { initialNode, initialValue, singular } from '../../../playground/src/document/initialValue.ts';
import {
  boundsText,
  defaultText,
  entryTitle,
  fieldForm,
  formatAny,
  matchingBranch,
  orderedMembers,
  parseAny,
  parseJson,
} from '../../../playground/src/inspector/formModel.ts';
import { repositoryPath } from '../../helpers/server.ts';

const schema = JSON.parse(readFileSync(repositoryPath('graphs/graph.schema.json'), 'utf8')) as object;
const graphTypes = readGraphTypes(schema);
const paramsOf = (type: string) => graphTypes.types.get(type)?.params.properties ?? {};
const toolSchema = paramsOf('ToolCall')['tools']?.items ?? {};

describe('the form of a parameter', () => {
  it.each([
    ['several lines for a prompt', paramsOf('Generate')['system_prompt'], { kind: 'text', editor: 'multiline' }],
    ['a model name', paramsOf('Generate')['model_name'], { kind: 'text', editor: 'model' }],
    ['a choice for a boolean', paramsOf('Generate')['hold'], { kind: 'choice', values: [true, false] }],
    ['a choice for an enum', paramsOf('Guardrail')['watch'], { kind: 'choice', values: ['message', 'answer'] }],
    ['JSON for a free object', paramsOf('Generate')['response_schema'], { kind: 'json' }],
    ['a text that may be null', { type: ['string', 'null'] }, { kind: 'text', editor: 'line' }],
    ['any value where the schema says nothing', {}, { kind: 'any' }],
    ['JSON for several types', { type: ['string', 'number'] }, { kind: 'json' }],
  ])('is %s', (_, field, form) => {
    expect(fieldForm(field ?? {}, undefined)).toEqual(form);
  });

  it('is a list or an object with the schema of what is in it', () => {
    expect(fieldForm(paramsOf('ToolCall')['tools'] ?? {}, [])).toMatchObject({ kind: 'list', items: toolSchema });
    expect(fieldForm(paramsOf('Generate')['sampling'] ?? {}, {})).toMatchObject({ kind: 'object' });
    expect(fieldForm({ type: 'integer', minimum: 0 }, 1)).toMatchObject({ kind: 'number' });
  });

  it('is JSON for a value of another type, so that it is not lost', () => {
    expect(fieldForm({ type: 'string' }, 5)).toEqual({ kind: 'json' });
    expect(fieldForm({ type: 'array', items: { type: 'string' } }, 'x')).toEqual({ kind: 'json' });
  });

  it('follows the branch that the value is meant for', () => {
    const own = matchingBranch(toolSchema, { name: 'x', description: 'y' });
    const openAi = matchingBranch(toolSchema, { function: { name: 'x' } });
    expect(fieldForm(toolSchema, 'ring_bell')).toMatchObject({ kind: 'text' });
    expect(Object.keys(own.properties ?? {})).toContain('consequential');
    expect(Object.keys(openAi.properties ?? {})).toContain('function');
    expect(fieldForm(own.properties?.['parameters'] ?? {}, { type: 'object' }).kind).toBe('json');
    expect(fieldForm(own.properties?.['parameters'] ?? {}, []).kind).toBe('list');
  });

  it('has required members first', () => {
    expect(orderedMembers(graphTypes.types.get('ToolCall')?.params ?? {})[0]?.[0]).toBe('tools');
  });

  it('says its default and its bounds', () => {
    expect(defaultText({ default: 30_000 })).toBe('30000');
    expect(defaultText({ default: {} })).toBe('');
    expect(defaultText({ description: 'Whether a call must have it; default: true.' })).toBe('true');
    expect(defaultText({ description: 'What the tool does.' })).toBe('');
    expect(boundsText({ minimum: 0, maximum: 1 })).toBe('0 to 1');
    expect(boundsText({ exclusiveMinimum: 0 })).toBe('more than 0');
    expect(boundsText({ minimum: 1 })).toBe('at least 1');
    expect(boundsText({})).toBe('');
  });
});

describe('a value in one line', () => {
  it.each([['porch'], ['5'], [5], [true], [null], [['a', 1]], ['"quoted"'], ['']])(
    '%j is read as it was written',
    (value) => {
      expect(parseAny(formatAny(value))).toEqual(value);
    },
  );

  it('says what is no JSON', () => {
    expect(parseJson('{')).toMatchObject({ error: expect.stringContaining('This is no JSON') });
    expect(parseJson('[1]')).toEqual({ value: [1] });
  });

  it('has a title', () => {
    expect(entryTitle({ name: 'set_light' })).toBe('set_light');
    expect(entryTitle({ function: { name: 'set_light' } })).toBe('set_light');
    expect(entryTitle({})).toBe('');
  });
});

describe('a new value', () => {
  it.each([
    ['tools', 'tool'],
    ['entries', 'entry'],
    ['stop', 'stop'],
  ])('in %s is a %s', (name, word) => {
    expect(singular(name)).toBe(word);
  });

  it('has the members that it must have', () => {
    expect(initialValue(toolSchema, 'tools', 2)).toEqual({ name: 'tool_2', description: '' });
    const toolCall = graphTypes.types.get('ToolCall');
    const generate = graphTypes.types.get('Generate');
    expect(toolCall && initialNode(toolCall)).toEqual({ type: 'ToolCall', params: { tools: [] } });
    expect(generate && initialNode(generate)).toEqual({ type: 'Generate' });
  });
});

describe('the exits of a node', () => {
  it('are those of its type', () => {
    expect(exitNames(graphTypes, { type: 'Guardrail' })).toEqual(['triggered', 'not_triggered']);
  });

  it('follow its parameters where the schema says so', () => {
    const node = { type: 'Route', params: { labels: [{ name: 'greet' }, { name: 'buy' }] }, exits: { greet: 'x' } };
    expect(exitNames(graphTypes, node)).toEqual(['greet', 'buy', 'not_matched']);
  });

  it('have those of the file in addition', () => {
    expect(exitNames(graphTypes, { type: 'Die', exits: { six: 'x' } })).toEqual(['six']);
    expect(exitNames(graphTypes, { type: 'Generate', exits: { old: '' } })).toEqual(['default', 'old']);
  });
});
