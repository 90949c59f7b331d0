import { getEventListeners } from 'node:events';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { AnswerScores, Sequence } from '../../src/inference/contract/engine.ts';
import { generate, gpu, longText, neverAborted, userPrompt, type LoadedModel, type NarrowModel } from './generation.ts';

const labels = ['order', 'order food', 'chat', 'no'];
const signal = neverAborted;

/** Contract of every engine for the scores of answers. */
export function scoringContract(loaded: LoadedModel, narrow: NarrowModel): void {
  describe('when it scores answers', () => {
    const withSequence = async <T>(work: (sequence: Sequence) => Promise<T>): Promise<T> => {
      await using sequence = loaded.model.openSequence();
      return await work(sequence);
    };

    const scoreFresh = async (text: string, answers: readonly string[]): Promise<readonly number[]> =>
      withSequence(async (sequence) => (await sequence.score(userPrompt(text), answers, { signal })).scores);

    it('gives each answer the logarithm of a probability, in their order', async () => {
      const { scores, finishReason, tokens, timings } = await withSequence((sequence) =>
        sequence.score(userPrompt('Two beers, please.'), labels, { signal }),
      );
      expect(finishReason).toBe('end');
      expect(scores).toHaveLength(labels.length);
      for (const score of scores) expect(score).toBeLessThanOrEqual(1e-4);
      for (const score of scores) expect(score).toBeGreaterThan(-Infinity);
      expect(sumOfProbabilities(scores)).toBeLessThanOrEqual(1.0001);
      expect(tokens).toMatchObject({ reused: 0, generated: 0 });
      expect(tokens.prompt).toBeGreaterThan(10);
      expect(timings.firstTokenMs).toBe(0);
      expect(timings.totalMs).toBeGreaterThanOrEqual(timings.queuedMs);
      const reversed = await scoreFresh('Two beers, please.', labels.toReversed());
      expectClose(reversed.toReversed(), scores);
    });

    it('gives an answer the same score whatever it is compared with, and twice if it is given twice', async () => {
      const [alone = 0] = await scoreFresh('Do you sell beer?', ['order food']);
      const [first = 0, , second = 0] = await scoreFresh('Do you sell beer?', [
        'order food',
        'order food too',
        'order food',
      ]);
      expect(second).toBe(first);
      // The default of the mock shares all probability among the answers.
      if (loaded.engine.name !== 'mock') expectClose([first], [alone]);
    });

    it('lets the event loop run', async () => {
      let hasRun = false;
      setImmediate(() => void (hasRun = true));
      await scoreFresh('Hello!', labels);
      expect(hasRun).toBe(true);
    });

    it('accepts no answers, and the empty answer', async () => {
      expect(await scoreFresh('Hello!', [])).toEqual([]);
      const [empty = 0] = await scoreFresh('Hello!', ['']);
      expect(empty).toBeLessThanOrEqual(1e-4);
    });

    it('evaluates a prompt once for several scorings, and what prompts have in common', async () => {
      await withSequence(async (sequence) => {
        const system = longText(10);
        const first = await sequence.score(userPrompt('Is the lamp on?', system), ['yes', 'no'], { signal });
        const again = await sequence.score(userPrompt('Is the lamp on?', system), ['yes', 'no'], { signal });
        expect(again.tokens.reused).toBe(again.tokens.prompt - 1);
        expectClose(again.scores, first.scores);
        const [common = 0] = await loaded.model.count([system]);
        const other = await sequence.score(userPrompt('Is the door open?', system), ['yes', 'no'], { signal });
        expect(other.tokens.reused).toBeGreaterThanOrEqual(common);
        const fresh = await withSequence((alone) =>
          alone.score(userPrompt('Is the door open?', system), ['yes', 'no'], { signal }),
        );
        expectClose(other.scores, fresh.scores);
      });
    });

    it('does not change later generations of the sequence', async () => {
      const prompt = userPrompt('How are you today?');
      const expected = await withSequence((sequence) => generate(sequence, prompt));
      await withSequence(async (sequence) => {
        await sequence.score(prompt, labels, { signal });
        const after = await generate(sequence, prompt);
        expect(after.text).toBe(expected.text);
        expect(after.tokens.reused).toBe(after.tokens.prompt - 1);
        const scored = await sequence.score(prompt, labels, { signal });
        expectClose(scored.scores, await scoreFresh('How are you today?', labels));
      });
    });

    it('has a transcript of the prompt where it is asked for one', async () => {
      await withSequence(async (sequence) => {
        expect(await sequence.score(userPrompt('Hello!'), labels, { signal })).not.toHaveProperty('transcript');
        const { transcript } = await sequence.score(userPrompt('Hello!'), labels, { signal, transcript: true });
        expect(transcript?.text).toBe('');
        expect(transcript?.prompt.map(({ text }) => text).join('')).toContain('Hello!');
      });
    });

    it('does nothing when the signal is already aborted', async () => {
      const aborted = await withSequence((sequence) =>
        sequence.score(userPrompt('Hello!'), labels, { signal: AbortSignal.abort() }),
      );
      expect(aborted).toMatchObject({ finishReason: 'aborted', scores: [], tokens: { reused: 0 } });
    });

    it('ends when it is aborted, and is usable afterwards', async () => {
      await withSequence(async (sequence) => {
        const control = new AbortController();
        const answers = Array.from({ length: 200 }, (_, index) => `answer ${index} ${longText(1)}`);
        const pending = sequence.score(userPrompt(longText(20)), answers, { signal: control.signal });
        await yieldToEventLoop();
        control.abort();
        // A mock scores without a wait.
        if (loaded.engine.name !== 'mock') expect(await pending).toMatchObject({ finishReason: 'aborted', scores: [] });
        await pending;
        expect(getEventListeners(control.signal, 'abort')).toEqual([]);
        expect(loaded.model.stats()).toMatchObject({ slotsBusy: 0, waiting: 0 });
        const { scores } = await sequence.score(userPrompt('Hello!'), labels, { signal });
        expectClose(scores, await scoreFresh('Hello!', labels));
      });
    });

    it('ends when the sequence is disposed of', async () => {
      const sequence = loaded.model.openSequence();
      const answers = Array.from({ length: 200 }, (_, index) => `answer ${index} ${longText(1)}`);
      const pending = sequence.score(userPrompt(longText(20)), answers, { signal });
      await yieldToEventLoop();
      await sequence[Symbol.asyncDispose]();
      if (loaded.engine.name !== 'mock') expect((await pending).finishReason).toBe('aborted');
      expect((await sequence.score(userPrompt('Hello!'), labels, { signal })).finishReason).toBe('aborted');
    });

    it('rejects a prompt that leaves no room for its longest answer, with all numbers', async () => {
      await withSequence(async (sequence) => {
        const prompt = userPrompt(longText(40));
        const { tokens } = await sequence.score(prompt, labels, { signal });
        const long = longText(70);
        await expect(sequence.score(prompt, ['no', long], { signal })).rejects.toMatchObject({
          name: 'PROMPT_TOO_LARGE',
          message: expect.stringMatching(new RegExp(`${tokens.prompt} tokens.*answer of \\d{3}.*1024`)),
        });
        await expect(sequence.score(userPrompt(longText(400)), labels, { signal })).rejects.toMatchObject({
          name: 'PROMPT_TOO_LARGE',
        });
        expect((await sequence.score(prompt, labels, { signal })).finishReason).toBe('end');
      });
    });

    it('gives the same scores in concurrent sequences as alone, also with fewer slots', async () => {
      const { model } = await narrow.get();
      const texts = ['Two beers!', 'Hello!', 'Who are you?'];
      const expected: (readonly number[])[] = [];
      for (const text of texts) expected.push(await scoreFresh(text, labels.slice(1)));
      for (const shared of [loaded.model, model]) {
        const sequences = texts.map(() => shared.openSequence());
        // The second time from what is kept of their prompts.
        for (let round = 0; round < 2; round++) {
          const scored = await Promise.all(
            sequences.map((sequence, index) =>
              sequence.score(userPrompt(texts[index] ?? ''), labels.slice(1), { signal }),
            ),
          );
          for (const [index, { scores }] of scored.entries()) expectClose(scores, expected[index] ?? []);
        }
        await Promise.all(sequences.map((sequence) => sequence[Symbol.asyncDispose]()));
      }
      expect(model.stats()).toMatchObject({ slotsBusy: 0, waiting: 0 });
    });
  });
}

const sumOfProbabilities = (scores: AnswerScores['scores']): number =>
  scores.reduce((sum, score) => sum + Math.exp(score), 0);

/** Batches of other sizes compute slightly different numbers, and on a graphics card with half of the digits. */
const maxDifference = gpu === 'off' ? 0.05 : 0.2;

function expectClose(actual: readonly number[], expected: readonly number[]): void {
  expect(actual).toHaveLength(expected.length);
  for (const [index, score] of actual.entries())
    expect(Math.abs(score - (expected[index] ?? NaN))).toBeLessThan(maxDifference);
}
