import { afterEach, describe, expect, it, vi } from 'vitest';
import { didYouMean } from '../../src/didYouMean.ts';
import { createReader } from '../../src/schema.ts';

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

  it('neither copies nor validates a value with tens of thousands of unknown keys, at the root or further in', () => {
    const readGraph = createReader({
      type: 'object',
      properties: { tools: { type: 'array', items: { type: 'object', additionalProperties: false, properties: {} } } },
    });
    const copy = vi.spyOn(globalThis, 'structuredClone');
    const keys = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`key${index}`, index]));
    for (const result of [readLamp(keys), readGraph({ tools: [{}, keys] })]) {
      expect(result).toMatchObject({ ok: false });
      if (!result.ok) expect(result.errors.length).toBe(400);
    }
    const result = readGraph({ tools: [{}, keys] });
    expect(result.ok ? undefined : result.errors[7]).toEqual({
      pointer: '/tools/1/key7',
      message: 'is not known here',
    });
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
  });

  it('suggests nothing for a name that only resembles the beginning of a word', () => {
    expect(messagesFor({ st: 'a' })).toEqual(['/st is not known here']);
  });
});
