import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import { userPrompt, generate } from '../contracts/generation.ts';
import { demoWithTemplate } from './demoTemplate.ts';

// The template is padded with spaces to its old length, so the prompt does not end exactly with the tag.
const template =
  '{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n<think>\n';

describe('a model whose chat template ends with a reasoning tag', () => {
  const engine = llamaEngine();
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    await writeFile(join(folder, 'thinker.gguf'), await demoWithTemplate(template));
  });
  afterAll(async () => {
    await engine[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  it('emits the tag at the start of its text', async () => {
    const model = await engine.load(join(folder, 'thinker.gguf'), {
      contextSize: 256,
      slots: 1,
      threads: 1,
      gpu: 'off',
    });
    const pieces: string[] = [];
    const { text } = await generate(model.openSequence(), userPrompt('Hello!'), {
      onText: (piece) => void pieces.push(piece),
    });
    expect(pieces[0]).toBe('<think>');
    expect(text).toBe(pieces.join(''));
    expect(text.length).toBeGreaterThan('<think>'.length);
  });
});
