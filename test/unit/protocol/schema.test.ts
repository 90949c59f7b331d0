import { afterEach, describe, expect, it, vi } from 'vitest';
import { casesSchema } from '../../../src/cli/graphTests/casesSchema.ts';
import { resultsSchema } from '../../../src/cli/callAnswers.ts';
import { serverSchema } from '../../../src/server/config.ts';
import { didYouMean } from '../../../src/base/didYouMean.ts';
import { graphSchema, nodeSchema } from '../../../src/graph/compile/document.ts';
import { catalogueSchema } from '../../../src/inference/models/catalogue/catalogue.ts';
import { modelSchema } from '../../../src/inference/models/catalogue/modelSchema.ts';
import { registryWith } from '../../../src/graph/nodes/index.ts';
import { requestSchema } from '../../../src/server/openai/requestSchema.ts';
import { assertSchema, createReader, type Schema } from '../../../src/protocol/schema.ts';
import { toolSchema } from '../../../src/chat/tools/declaration/toolSchema.ts';

const readLamp = createReader({
  type: 'object',
  additionalProperties: false,
  properties: { start_node: { type: 'string' }, default_model_name: { type: 'string' }, on: { type: 'boolean' } },
});

const messagesFor = (value: unknown): readonly string[] => {
  const result = readLamp(value);
  return result.ok ? [] : result.errors.map(({ pointer, message }) => `${pointer} ${message}`);
};

describe('a schema validator', () => {
  afterEach(() => vi.restoreAllMocks());

  it('does not format a value with tens of thousands of unknown keys for each of them', () => {
    const value = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`key${index}`, index]));
    const stringify = vi.spyOn(JSON, 'stringify');
    expect(messagesFor(value).length).toBeLessThan(500);
    expect(stringify).not.toHaveBeenCalledWith(expect.objectContaining({ key0: 0 }));
  });

  it('neither copies a value with tens of thousands of unknown keys, at the root or further in, nor finds all', () => {
    const readGraph = createReader({
      type: 'object',
      properties: { tools: { type: 'array', items: { type: 'object', additionalProperties: false, properties: {} } } },
    });
    const copy = vi.spyOn(globalThis, 'structuredClone');
    const keys = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`key${index}`, index]));
    const error = (pointer: string) => ({ ok: false, errors: [{ pointer, message: 'is not known here' }] });
    expect(readLamp(keys)).toEqual(error('/key0'));
    expect(readGraph({ tools: [{}, keys] })).toEqual(error('/tools/1/key0'));
    expect(copy).not.toHaveBeenCalled();
  });

  it.each([
    ['start', 'start_node'],
    ['default_model', 'default_model_name'],
    ['strat_node', 'start_node'],
  ])('suggests a name for %s', (name, known) => {
    expect(messagesFor({ [name]: 'a' })).toEqual([`/${name} is not known here; did you mean "${known}"?`]);
  });

  it('suggests such a name also from an iterator, which can be read once', () => {
    expect(didYouMean('answer', new Map([['answer_player', 1]]).keys())).toBe('; did you mean "answer_player"?');
    expect(didYouMean('qwen3-4b', ['Qwen3 8B (Q4_K_M)', 'Qwen3 4B (Q4_K_M)'])).toBe(
      '; did you mean "Qwen3 4B (Q4_K_M)"?',
    );
    expect(didYouMean('qwen3', ['Qwen3 4B (Q4_K_M)'])).toBe('');
  });

  it('suggests nothing for a name that only resembles the beginning of a word', () => {
    expect(messagesFor({ st: 'a' })).toEqual(['/st is not known here']);
  });
});

const schemas: Readonly<Record<string, Schema>> = {
  graph: graphSchema,
  node: nodeSchema,
  options: serverSchema,
  catalogue: catalogueSchema,
  model: modelSchema,
  tool: toolSchema,
  results: resultsSchema,
  cases: casesSchema,
  request: requestSchema,
  ...Object.fromEntries([...registryWith().values()].map(({ type, params }) => [type, params])),
};

describe('a schema', () => {
  it.each(Object.entries(schemas))('is valid: %s', (_, schema) => {
    expect(() => assertSchema(schema)).not.toThrow();
  });

  it.each([
    [{ type: 'objekt' }, 'data/type must be equal to one of the allowed values'],
    [{ type: 'string', shortest: 3 }, 'unknown keyword: "shortest"'],
  ])('is refused when it is invalid: %o', (schema, message) => {
    expect(() => assertSchema(schema as Schema)).toThrow(message);
  });
});
