import { describe, expect, it } from 'vitest';
import type { Sequence } from '../../src/inference/contract/engine.ts';
import { fullPace, Pace } from '../../src/inference/contract/pace.ts';
import { generate, neverAborted, userPrompt, type EngineUnderTest, type LoadedModel } from './generation.ts';

const paused = { ...fullPace, paused: true };

/** Contract of every engine for inferences whose pace changes while they run. */
export function paceContract({ long }: EngineUnderTest, loaded: LoadedModel): void {
  describe('at a pace', () => {
    async function withSequence(work: (sequence: Sequence) => Promise<void>): Promise<void> {
      const sequence = loaded.model.openSequence();
      try {
        await work(sequence);
      } finally {
        await sequence[Symbol.asyncDispose]();
      }
    }

    /** Another inference runs to its end meanwhile, so that what is paused had time to go on. */
    const otherInference = (): Promise<void> =>
      withSequence(async (sequence) => void (await generate(sequence, userPrompt('How are you today?'))));

    it.each([
      ['the likeliest tokens', { temperature: 0 }],
      ['drawn tokens', { temperature: 1, seed: 7 }],
      ['penalties', { temperature: 1, seed: 7, repeat_penalty: 1.3, presence_penalty: 0.5 }],
    ])('goes on after pauses as if there had been none, with %s', async (_, drawing) => {
      await withSequence(async (sequence) => {
        const sampling = { ...drawing, max_tokens: 20 };
        const whole = await generate(sequence, userPrompt(long), { sampling });
        const pace = new Pace();
        let pieces = 0;
        const resumeLater = (): void => {
          pace.set(paused);
          void otherInference().then(() => pace.set(fullPace));
        };
        const broken = await generate(sequence, userPrompt(long), {
          sampling,
          pace,
          onText: () => void (++pieces % 6 === 2 && !pace.limits.paused && resumeLater()),
        });
        expect(pieces).toBeGreaterThan(8);
        expect(broken).toMatchObject({ text: whole.text, finishReason: whole.finishReason });
      });
    });

    it('computes no token while it is paused, and holds no slot', async () => {
      const pace = new Pace();
      const sequences = [1, 2].map(() => loaded.model.openSequence());
      const running: ReturnType<typeof generate>[] = [];
      const pieces: string[] = [];
      let begun = 0;
      const allBegun = new Promise<void>((resolve) => {
        const onText = (index: number) => (piece: string) => {
          pieces.push(piece);
          begun |= 1 << index;
          if (begun === 3) resolve();
        };
        sequences.forEach((sequence, index) => {
          running.push(generate(sequence, userPrompt(long), { pace, onText: onText(index) }));
        });
      });
      await allBegun;
      pace.set(paused);
      await otherInference();
      const { length } = pieces;
      await otherInference();
      expect(pieces.length).toBe(length);
      pace.set(fullPace);
      const ends = await Promise.all(running);
      expect(pieces.length).toBeGreaterThan(length);
      expect(ends[0]?.text).toBe(ends[1]?.text);
      await Promise.all(sequences.map((sequence) => sequence[Symbol.asyncDispose]()));
    });
    it('does not begin while it is paused, and ends when it is aborted then', async () => {
      await withSequence(async (sequence) => {
        const pace = new Pace(paused);
        const control = new AbortController();
        const pending = generate(sequence, userPrompt(long), { pace, signal: control.signal });
        await otherInference();
        control.abort();
        expect(await pending).toMatchObject({ text: '', finishReason: 'aborted' });
        const scores = sequence.score(userPrompt(long), ['yes', 'no'], { pace, signal: neverAborted });
        const prefilled = sequence.prefill(userPrompt(long), neverAborted, { pace });
        const order: string[] = [];
        const ends = [scores.then(() => order.push('scored')), prefilled.then(() => order.push('prefilled'))];
        await otherInference();
        order.push('resumed');
        pace.set(fullPace);
        await Promise.all(ends);
        expect(order[0]).toBe('resumed');
        expect((await scores).scores).toHaveLength(2);
      });
    });

    it('ends when its sequence is disposed of while it is paused', async () => {
      const sequence = loaded.model.openSequence();
      const pending = generate(sequence, userPrompt(long), { pace: new Pace(paused) });
      await otherInference();
      await sequence[Symbol.asyncDispose]();
      expect(await pending).toMatchObject({ finishReason: 'aborted' });
    });

    it.each([
      ['its pace', { pace: new Pace({ ...fullPace, maxTokensPerSecond: 1 }) }],
      ['its own limit', { sampling: { max_tokens_per_second: 1 } }],
    ])('computes tokens no faster than by %s', async (_, limit) => {
      await withSequence(async (sequence) => {
        const control = new AbortController();
        let begin = (): void => undefined;
        const begun = new Promise<void>((resolve) => (begin = resolve));
        const pending = generate(sequence, userPrompt(long), { ...limit, signal: control.signal, onText: begin });
        await begun;
        await otherInference();
        control.abort();
        const { pieces, finishReason } = await pending;
        expect(finishReason).toBe('aborted');
        expect(pieces.length).toBeLessThan(5);
      });
    });

    it('says the same with a share of the time, which changes while it speaks', async () => {
      await withSequence(async (sequence) => {
        const sampling = { temperature: 0, max_tokens: 20 };
        const whole = await generate(sequence, userPrompt(long), { sampling });
        const pace = new Pace({ ...fullPace, maxShare: 0.5 });
        let pieces = 0;
        const onText = (): void => void (++pieces === 3 && pace.set({ maxShare: 0.25 }));
        const shared = await generate(sequence, userPrompt(long), { sampling, pace, onText });
        expect([shared.text, shared.finishReason]).toEqual([whole.text, whole.finishReason]);
      });
    });

    it('shares a limit of tokens among its inferences, and follows a change', async () => {
      const pace = new Pace({ ...fullPace, maxTokensPerSecond: 1 });
      const sequences = [1, 2].map(() => loaded.model.openSequence());
      let tokens = 0;
      let begin = (): void => undefined;
      const begun = new Promise<void>((resolve) => (begin = resolve));
      const onText = (): void => {
        tokens++;
        begin();
      };
      const pending = sequences.map((sequence) => generate(sequence, userPrompt(long), { pace, onText }));
      await begun;
      await otherInference();
      expect(tokens).toBeLessThan(5);
      pace.set(fullPace);
      for (const { text } of await Promise.all(pending)) expect(text).not.toBe('');
      await Promise.all(sequences.map((sequence) => sequence[Symbol.asyncDispose]()));
    });
  });
}
