import { describe, expect, it } from 'vitest';
import { parseCatalogue } from '../../../../../src/inference/models/catalogue/catalogue.ts';

const variant = { engine: 'llama-cpp', local_path: 'models', files: ['base.gguf'] };
const url = 'https://huggingface.co/ann/voices/resolve/main/wizard.gguf';
const hash = 'a'.repeat(64);

const parse = (lora: unknown, more: object = {}, entry: object = {}) =>
  parseCatalogue(
    JSON.stringify({ models: [{ name: 'Wizard', ...entry, variants: [{ ...variant, ...more, lora }] }] }),
    '/game/models.json',
  );

describe('the LoRA adapters of a catalogue entry', () => {
  it('are files of the user, relative to the catalogue, or downloaded ones', () => {
    const lora = [{ file: 'voices/old.gguf' }, { url, scale: 0.5, sha256: hash, size_bytes: 1000 }];
    const { problems, models } = parse(lora);
    expect(problems).toEqual([]);
    expect(models.get('Wizard')).toMatchObject({
      loraFiles: ['/game/voices/old.gguf', undefined],
      variants: [{ lora: [{ file: 'voices/old.gguf', scale: 1 }, lora[1]] }],
    });
  });

  const http = {
    engine: 'http',
    api: 'llama-server',
    base_url: 'http://127.0.0.1:1',
    local_path: undefined,
    files: undefined,
  };
  it.each([
    ['none', [], {}, {}, '/models/0/variants/0/lora must not be empty'],
    ['without a place', [{ scale: 1 }], {}, {}, '/models/0/variants/0/lora/0 must have either file or url'],
    ['with two places', [{ file: 'a.gguf', url }], {}, {}, '/models/0/variants/0/lora/0 must have either file or url'],
    ['twice', [{ url }, { url, scale: 2 }], {}, {}, '/lora/1 is the same as /variants/0/lora/0: add up their scales'],
    ['with a text as scale', [{ url, scale: 'loud' }], {}, {}, '/lora/0/scale must be a number, not "loud"'],
    ['with a huge scale', [{ url, scale: 1000 }], {}, {}, '/lora/0/scale must be <= 10, not 1000'],
    ['with a short hash', [{ url, sha256: 'abc' }], {}, {}, '/lora/0/sha256 must fit'],
    ['from another host', [{ url: 'https://example.org/a/b/resolve/main/c.gguf' }], {}, {}, '/lora/0/url must fit'],
    ['of another kind', [{ url: url.replace('.gguf', '.safetensors') }], {}, {}, '/lora/0/url must fit'],
    ['with a wrong name', [{ path: 'a.gguf' }], {}, {}, '/lora/0/path is not known here'],
    [
      'of a served model',
      [{ url }],
      http,
      {},
      '/variants/0/lora is for the engine llama-cpp: remove it, or name that engine',
    ],
    [
      'of an embedding model',
      [{ url }],
      {},
      { purpose: 'embedding' },
      '/lora is for chat models: remove it, or the purpose',
    ],
  ])('are refused with their place: %s', (_, lora, more, entry, expected) => {
    const { problems, models } = parse(lora, more, entry);
    expect(problems.join('\n')).toContain(expected);
    expect(models.size).toBe(0);
  });
});
