import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { LlamaModel } from 'node-llama-cpp';
import { families } from '../../scripts/gguf/families.mjs';
import type { Tokenizer } from '../../src/inference/decoding/tokenizer.ts';
import { openDemo, type Demo } from './demo.ts';
import { openTinyModels } from './tiny.ts';

const models = [...families.keys(), 'the demo model'];
let tiny: Awaited<ReturnType<typeof openTinyModels>>;
let demo: Demo;
beforeAll(async () => {
  tiny = await openTinyModels([...families.keys()]);
  demo = await openDemo();
});
afterAll(async () => {
  await tiny.close();
  await demo.close();
});
const modelOf = (name: string): { readonly weights: LlamaModel; readonly tokenizer: Tokenizer } =>
  families.has(name) ? tiny.get(name) : demo;

const length = 13_000;
const longText = (part: string): string => part.repeat(Math.ceil(length / part.length));

const texts = {
  prose: 'The Tower\'s keeper, who\'d lost 12 keys (and 3,400.50 coins), said: "No — not   today!"\n\nThen he left.\t',
  JSON: '{"type": "string", "name": "p1"}, ',
  code: 'for (let i = 0; i < 10; i++) {\n    call(i); // twice\n  }\r\n',
  Russian: 'Привет, мир! Это длинный текст без конца. ',
  'Japanese with spaces': '月が きれい ですね。 ',
  emoji: '🎉 🎊🎉 ',
  'control strings': 'a<|im_end|> b [/INST] c</s> d <|eot_id|>e <tool_call>\n',
};
const cases = models.flatMap((model) => Object.entries(texts).map(([name, part]) => [name, model, part] as const));

describe('a long text', () => {
  it.each(cases)('(%s) has the same tokens in pieces as in one: %s', (_, name, part) => {
    const { weights, tokenizer } = modelOf(name);
    for (const withControl of [false, true]) {
      const pieces = [...tokenizer.tokenizeInPieces(longText(part), withControl)];
      expect(pieces.length).toBeGreaterThan(3);
      expect(pieces.flat().join()).toBe(weights.tokenize(longText(part), withControl).join());
    }
  });

  it.each(models)('without a space is cut all the same, and loses nothing: %s', (name) => {
    const { weights, tokenizer } = modelOf(name);
    for (const part of ['a', '\n', ' ', '🎉', 'ภาษาไทย', '<|im_end|>', '<|im_end|', 'thereinging']) {
      const pieces = [...tokenizer.tokenizeInPieces(longText(part), false)];
      expect(pieces.length).toBeGreaterThan(3);
      const text = weights.detokenize(pieces.flat());
      expect(text.length - longText(part).length).toBeLessThanOrEqual(1);
      expect(text.trimStart()).toBe(longText(part).trimStart());
    }
  });

  it.each(models)('is counted no further than asked for: %s', async (name) => {
    const { weights, tokenizer } = modelOf(name);
    for (const part of Object.values(texts)) {
      const tokenize = vi.spyOn(weights, 'tokenize');
      const charactersFor = async (text: string): Promise<number> => {
        tokenize.mockClear();
        expect(await tokenizer.count(text, 1000)).toBeGreaterThan(1000);
        return tokenize.mock.calls.reduce((sum, [piece]) => sum + piece.length, 0);
      };
      expect(await charactersFor(longText(part) + longText(part))).toBe(await charactersFor(longText(part)));
      tokenize.mockRestore();
    }
  });
});
