import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { IncompleteHeader, parseHeader } from '../../src/engine/llama/gguf/header.ts';
import { demoFile } from './demo.ts';

describe('a GGUF header', () => {
  let header: Buffer;
  beforeAll(async () => void (header = (await readFile(demoFile)).subarray(0, 140_000)));

  /** The header with its first `from` replaced by `to`, of the same length. */
  function changed(from: string, to: string): Buffer {
    const copy = Buffer.from(header);
    copy.write(to, copy.indexOf(from), 'latin1');
    return copy;
  }

  it('tells its values and its tensors', () => {
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

  it('needs more where it is cut short', () => {
    for (let length = 0; length < 120_000; length += 997) {
      expect(() => parseHeader(header.subarray(0, length))).toThrow(IncompleteHeader);
    }
  });

  it.each([
    ['an invalid key', () => changed('llama.rope.dim', '\0\0ama.rope.dim'), 'invalid key'],
    ['a key twice', () => changed('tokenizer.ggml.bos_token_id', 'tokenizer.ggml.eos_token_id'), 'twice'],
    ['another beginning', () => changed('GGUF', 'GGML'), 'begin'],
  ])('is refused for %s', (_, broken, why) => {
    expect(() => parseHeader(broken())).toThrow(why);
  });

  it('is ambiguous when two tokens are the same word to llama.cpp', () => {
    expect(parseHeader(changed('market', 'a\0\0\0\0\0')).hasDuplicateTokens).toBe(true);
  });

  it('never hangs and never fails otherwise than with a reason, whatever is changed in it', () => {
    let state = 12345;
    const random = (below: number): number => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) % below;
    for (let round = 0; round < 300; round++) {
      const broken = Buffer.from(header);
      for (let change = 0; change <= random(3); change++)
        broken.fill(random(256), ...span(random(62_000), 1 + random(8)));
      try {
        parseHeader(broken);
      } catch (error) {
        expect(error).toBeInstanceOf(Error);
        expect(error).not.toBeInstanceOf(TypeError);
      }
    }
  });
});

const span = (start: number, length: number): [number, number] => [start, start + length];
