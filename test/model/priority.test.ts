import { describe, expect, it } from 'vitest';
import type { Model } from '../../src/inference/contract/engine.ts';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import { fullPace, Pace } from '../../src/inference/contract/pace.ts';
import { generate, longText, userPrompt } from '../contracts/generation.ts';
import { demoFile } from './demo.ts';

const story = userPrompt('Tell me a long story about the sea, the wind and the old house.');
const question = userPrompt('How are you today?');

async function withModel(slots: number, work: (model: Model) => Promise<void>): Promise<void> {
  await using engine = llamaEngine();
  await work(await engine.load(demoFile, { contextSize: 1024, slots, threads: 1, gpu: 'off' }));
}

/** Resolves with the first piece of text. */
function firstText(): { readonly seen: Promise<void>; readonly onText: () => void } {
  let onText = (): void => undefined;
  const seen = new Promise<void>((resolve) => (onText = resolve));
  return { seen, onText };
}

describe('a background generation', () => {
  it('gives its slot to others between two tokens, and then goes on with the same text', async () => {
    await withModel(1, async (model) => {
      const [sequence, other, more] = [model.openSequence(), model.openSequence(), model.openSequence()];
      const alone = await generate(sequence, story);
      for (const priority of ['NORMAL', 'URGENT'] as const) {
        const order: string[] = [];
        const { seen, onText } = firstText();
        const background = generate(sequence, story, { priority: 'BACKGROUND', onText });
        await seen;
        const others = [other, more].map((waiting) => generate(waiting, question, { priority }));
        await Promise.all([
          background.then(() => order.push('background')),
          ...others.map((end) => end.then(() => order.push(priority))),
        ]);
        expect(order).toEqual([priority, priority, 'background']);
        expect((await background).text).toBe(alone.text);
      }
    });
  });

  it('gives its slot up while it evaluates its prompt', async () => {
    await withModel(1, async (model) => {
      const [sequence, other] = [model.openSequence(), model.openSequence()];
      const prompt = userPrompt(longText(60));
      const order: string[] = [];
      const background = generate(sequence, prompt, { priority: 'BACKGROUND', sampling: { max_tokens: 2 } });
      const urgent = generate(other, question, { priority: 'URGENT' });
      await Promise.all([background.then(() => order.push('background')), urgent.then(() => order.push('urgent'))]);
      expect(order).toEqual(['urgent', 'background']);
    });
  });

  it('gets few tokens while an urgent one runs, and ends although urgent ones always run', async () => {
    await withModel(2, async (model) => {
      const [sequence, other] = [model.openSequence(), model.openSequence()];
      const tokens = { background: 0, urgent: 0 };
      const isOver = { background: false };
      const background = generate(sequence, story, {
        priority: 'BACKGROUND',
        sampling: { max_tokens: 6 },
        onText: () => tokens.background++,
      }).then((end) => {
        isOver.background = true;
        return end;
      });
      const onText = (): void => void tokens.urgent++;
      while (!isOver.background) await generate(other, story, { priority: 'URGENT', onText });
      expect((await background).tokens.generated).toBe(6);
      expect(tokens.urgent).toBeGreaterThan(2 * tokens.background);
    });
  });

  it('goes on while the session of the urgent one is paused, and ends when it is cancelled', async () => {
    await withModel(2, async (model) => {
      const [sequence, other] = [model.openSequence(), model.openSequence()];
      const pace = new Pace();
      const { seen, onText } = firstText();
      const urgent = generate(other, story, { priority: 'URGENT', pace, onText });
      await seen;
      const control = new AbortController();
      const cancelled = generate(sequence, story, { priority: 'BACKGROUND', signal: control.signal });
      control.abort();
      expect((await cancelled).finishReason).toBe('aborted');
      pace.set({ ...fullPace, paused: true });
      expect((await generate(sequence, story, { priority: 'BACKGROUND' })).text).not.toBe('');
      pace.set(fullPace);
      expect((await urgent).finishReason).not.toBe('aborted');
    });
  });
});

describe('a generation whose time has not come', () => {
  it('gives its slot to others', async () => {
    await withModel(1, async (model) => {
      const [sequence, other] = [model.openSequence(), model.openSequence()];
      const alone = await generate(sequence, story);
      const pace = new Pace({ ...fullPace, maxTokensPerSecond: 1 });
      const { seen, onText } = firstText();
      const slow = generate(sequence, story, { pace, onText });
      await seen;
      expect((await generate(other, question)).finishReason).toBe('end');
      pace.set(fullPace);
      expect((await slow).text).toBe(alone.text);
    });
  });
});
