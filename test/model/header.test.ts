import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { IncompleteHeader, parseHeader } from '../../src/inference/llama/gguf/header.ts';
import { demoFile } from './demo.ts';

describe('a GGUF header', () => {
  let header: Buffer;
  beforeAll(async () => void (header = (await readFile(demoFile)).subarray(0, 140_000)));

  /** The header with its first `from` replaced by `to`, of the same length. */
  function withReplacement(from: string, to: string): Buffer {
    const copy = Buffer.from(header);
    copy.write(to, copy.indexOf(from), 'latin1');
    return copy;
  }

  it('contains values and tensors', () => {
    const { values, tensors, hasDuplicateTokens: ambiguous } = parseHeader(header);
    expect(values.get('general.architecture')).toBe('llama');
    expect(values.get('llama.context_length')).toBe(2048);
    expect(values.get('tokenizer.ggml.tokens')).toBe(4096);
    expect(values.get('tokenizer.ggml.add_bos_token')).toBe(false);
    expect(tensors.find(({ name }) => name === 'token_embd.weight')).toMatchObject({
      dimensions: [256, 4096],
      offset: 0,
    });
    expect(ambiguous).toBe(false);
  });

  it('is incomplete when it is truncated', () => {
    for (let length = 0; length < 120_000; length += 997) {
      expect(() => parseHeader(header.subarray(0, length))).toThrow(IncompleteHeader);
    }
  });

  it('has its tokens compared once it is complete, since it is parsed again with more of the file until then', () => {
    const add = vi.spyOn(Set.prototype, 'add');
    const comparedIn = (length: number): number => {
      add.mockClear();
      try {
        parseHeader(header.subarray(0, length));
      } catch {
        // It is incomplete.
      }
      return add.mock.calls.length;
    };
    const compared = [60_000, 119_000, 140_000].map(comparedIn);
    add.mockRestore();
    expect(compared).toEqual([0, 0, 4096]);
  });

  it.each([
    ['an invalid key', () => withReplacement('llama.rope.dim', '\0\0ama.rope.dim'), 'invalid key'],
    ['a key twice', () => withReplacement('tokenizer.ggml.bos_token_id', 'tokenizer.ggml.eos_token_id'), 'twice'],
    ['another beginning', () => withReplacement('GGUF', 'GGML'), 'begin'],
  ])('is rejected for %s', (_, corrupt, why) => {
    expect(() => parseHeader(corrupt())).toThrow(why);
  });

  it('has duplicate tokens when llama.cpp reads two tokens as the same text', () => {
    expect(parseHeader(withReplacement('market', 'a\0\0\0\0\0')).hasDuplicateTokens).toBe(true);
  });

  it('is parsed or rejected with an Error, whatever bytes are changed', () => {
    let state = 12345;
    const random = (below: number): number => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) % below;
    for (let round = 0; round < 300; round++) {
      const corrupt = Buffer.from(header);
      for (let change = 0; change <= random(3); change++)
        corrupt.fill(random(256), ...span(random(62_000), 1 + random(8)));
      try {
        parseHeader(corrupt);
      } catch (error) {
        expect(error).toBeInstanceOf(Error);
        expect(error).not.toBeInstanceOf(TypeError);
      }
    }
  });
});

const span = (start: number, length: number): [number, number] => [start, start + length];
