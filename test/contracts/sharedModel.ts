import { describe, expect, it } from 'vitest';
import type { Sequence } from '../../src/inference/contract/engine.ts';
import { userPrompt, generate, gpu, type EngineUnderTest, type LoadedModel, type NarrowModel } from './generation.ts';

/** Contract of every engine for sequences that share a model. */
export function sharedModelContract(
  { file, long, rounds = 10 }: EngineUnderTest,
  loaded: LoadedModel,
  narrow: NarrowModel,
): void {
  describe('in several sequences', () => {
    async function alone(text: string): Promise<string> {
      const sequence = loaded.model.openSequence();
      const completion = await generate(sequence, userPrompt(text));
      await sequence[Symbol.asyncDispose]();
      return completion.text;
    }

    it('keeps concurrent sequences apart', async () => {
      const questions = ['How are you today?', 'Tell me a joke', 'What is your name?'];
      const expected: string[] = [];
      for (const question of questions) expected.push(await alone(question));
      const sequences = questions.map(() => loaded.model.openSequence());
      const together = await Promise.all(
        questions.map((question, index) =>
          generate(sequences[index] ?? loaded.model.openSequence(), userPrompt(question)),
        ),
      );
      expect(together.map(({ text }) => text)).toEqual(expected);
      await Promise.all(sequences.map((sequence) => sequence[Symbol.asyncDispose]()));
    });

    it('never mixes the tokens of concurrent sequences over many rounds', async () => {
      const questions = [
        'Tell me a story.',
        'Who are you?',
        'Tell me a joke',
        'How are you today?',
        'Hello!',
        'What is your name?',
      ];
      const wideModel = await loaded.engine.load(file, { contextSize: 512, slots: 6, threads: 1, gpu });
      const generateBriefly = async (sequence: Sequence, question: string): Promise<string> =>
        (await generate(sequence, userPrompt(question), { sampling: { max_tokens: 12 } })).text;
      const one = wideModel.openSequence();
      const expected = new Map<string, string>();
      for (const question of questions) expected.set(question, await generateBriefly(one, question));
      const wrong: string[] = [];
      await Promise.all(
        questions.map(async (_, index) => {
          const sequence = wideModel.openSequence();
          for (let round = 0; round < rounds; round++) {
            const question = questions[(index * 2 + round * (index + 1)) % questions.length] ?? '';
            const text = await generateBriefly(sequence, question);
            if (text !== expected.get(question)) wrong.push(`${question} ${text}`);
          }
        }),
      );
      expect(wrong).toEqual([]);
      await wideModel[Symbol.asyncDispose]();
    });

    it('serves more sequences than it has slots, each with its own dialog', async () => {
      const names = ['Ann', 'Bob', 'Cid', 'Dan', 'Eve'];
      const sequences = names.map(() => loaded.model.openSequence());
      const generateAll = (round: number): Promise<string[]> =>
        Promise.all(
          sequences.map(
            async (sequence, index) => (await generate(sequence, userPrompt(`I am ${names[index]} ${round}.`))).text,
          ),
        );
      const expected: string[] = [];
      for (const name of names) expected.push(await alone(`I am ${name} 2.`));
      await generateAll(1);
      expect(await generateAll(2)).toEqual(expected);
      await Promise.all(sequences.map((sequence) => sequence[Symbol.asyncDispose]()));
    });

    it('gives the slot of a paused generation to others, and continues it later', async () => {
      const expected = await alone('Tell me a joke');
      const [slow, ...others] = [1, 2, 3].map(() => loaded.model.openSequence());
      if (!slow) throw new Error('no sequence');
      let open = (): void => {};
      const gate = new Promise<void>((resolve) => (open = resolve));
      let pieces = 0;
      let closed = true;
      const paused = generate(slow, userPrompt('Tell me a joke'), {
        onText: () => void pieces++,
        backpressure: () => (pieces >= 2 && closed ? gate : undefined),
      });
      // Two slots, and three rounds of two other sequences that need both.
      for (let round = 0; round < 3; round++) {
        await Promise.all(others.map((sequence) => generate(sequence, userPrompt(`How are you today? ${round}`))));
      }
      expect(pieces).toBeLessThanOrEqual(3);
      closed = false;
      open();
      expect((await paused).text).toBe(expected);
      await Promise.all([slow, ...others].map((sequence) => sequence[Symbol.asyncDispose]()));
    });

    it('does not fail other generations when one fails', async () => {
      const [good, bad] = [loaded.model.openSequence(), loaded.model.openSequence()];
      const [fine, failed] = await Promise.allSettled([
        generate(good, userPrompt('How are you today?')),
        generate(bad, userPrompt('How are you today?'), {
          onText: () => {
            throw new Error('the listener fails');
          },
        }),
      ]);
      expect(failed).toMatchObject({ status: 'rejected', reason: { message: 'the listener fails' } });
      expect(fine).toMatchObject({ status: 'fulfilled', value: { finishReason: 'end' } });
      expect((await generate(bad, userPrompt('How are you today?'))).finishReason).toBe('end');
      await Promise.all([good, bad].map((sequence) => sequence[Symbol.asyncDispose]()));
    });

    it('ends a generation whose sequence is disposed of', async () => {
      const sequence = loaded.model.openSequence();
      const ended: string[] = [];
      let disposal: Promise<unknown> | undefined;
      const dispose = async (): Promise<void> => {
        await sequence[Symbol.asyncDispose]();
        ended.push('disposed');
      };
      const pending = generate(sequence, userPrompt(long), {
        // Slower than the disposal, however busy the machine is.
        sampling: { max_tokens: 500, max_tokens_per_second: 10 },
        onText: () => (disposal ??= dispose()),
      });
      void pending.then(() => ended.push('generated'));
      expect((await pending).finishReason).toBe('aborted');
      await disposal;
      expect(ended).toContain('disposed');
      expect((await generate(sequence, userPrompt(long))).finishReason).toBe('aborted');
    });

    it('ends all generations when it is disposed of', async () => {
      const { model } = await narrow.get();
      const generations = [1, 2, 3].map(() =>
        generate(model.openSequence(), userPrompt(long), { sampling: { max_tokens: 400 } }),
      );
      await narrow[Symbol.asyncDispose]();
      for (const { finishReason } of await Promise.all(generations)) expect(finishReason).toBe('aborted');
    });
  });
}
