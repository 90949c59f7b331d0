import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Prompt } from '../../src/dialog.ts';
import type { Completion, Engine, GenerateOptions, Model, Sampling, Sequence } from '../../src/engine/engine.ts';

/** What the suite needs of an engine under test. */
export interface Subject {
  readonly name: string;
  readonly open: () => Engine;
  readonly file: string;
  /** A user's message that is answered at length (more than 20 tokens), and slowly enough to be cancelled. */
  readonly long: string;
}

export const greedy: Sampling = {
  temperature: 0,
  top_p: 1,
  top_k: 0,
  min_p: 0,
  repeat_penalty: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  max_tokens: 40,
  seed: 1,
  stop: [],
};

export const never = new AbortController().signal;

export const ask = (text: string, system = 'You are a lamp.'): Prompt => ({
  messages: [
    { role: 'system', text: system },
    { role: 'user', text },
  ],
});

export const following = (prompt: Prompt, answer: string, text: string): Prompt => ({
  ...prompt,
  messages: [...prompt.messages, { role: 'assistant', text: answer }, { role: 'user', text }],
});

/** A generation with defaults, and the pieces in which its text came. */
export async function say(
  sequence: Sequence,
  prompt: Prompt,
  options: Partial<Omit<GenerateOptions, 'sampling'>> & { readonly sampling?: Partial<Sampling> } = {},
): Promise<Completion & { readonly pieces: readonly string[] }> {
  const pieces: string[] = [];
  const completion = await sequence.generate(prompt, {
    signal: never,
    ...options,
    sampling: { ...greedy, ...options.sampling },
    onText: (piece) => {
      pieces.push(piece);
      options.onText?.(piece);
    },
  });
  return { ...completion, pieces };
}

const paragraphs = (count: number): string => 'The lamp stands in the hall and shines. '.repeat(count);

/** What every engine promises. */
export function engineContract({ name, open, file, long }: Subject): void {
  describe(`the ${name} engine`, () => {
    let engine: Engine;
    let model: Model;

    beforeAll(async () => {
      engine = open();
      model = await engine.load(file, { contextSize: 1024, seats: 2, threads: 1, gpu: 'off' });
    });
    afterAll(() => engine[Symbol.asyncDispose]());

    const inSequence = async (work: (sequence: Sequence) => Promise<void>): Promise<void> => {
      const sequence = model.openSequence();
      try {
        await work(sequence);
      } finally {
        await sequence[Symbol.asyncDispose]();
      }
    };

    it('tells its context size and its overhead', () => {
      expect(model.contextSize).toBe(1024);
      expect(model.overhead.message).toBeGreaterThan(0);
      expect(model.overhead.prompt).toBeGreaterThanOrEqual(0);
      expect(model.notes).toEqual([]);
    });

    it('reports progress while it loads, up to 1', async () => {
      const seen: number[] = [];
      const other = await engine.load(file, {
        contextSize: 256,
        seats: 1,
        threads: 1,
        gpu: 'off',
        onProgress: (at) => seen.push(at),
      });
      await other[Symbol.asyncDispose]();
      expect(seen.at(-1)).toBe(1);
      expect(seen).toEqual(seen.toSorted((a, b) => a - b));
    });

    it('does not load for a signal that is aborted', async () => {
      const signal = AbortSignal.abort();
      const loading = engine.load(file, { contextSize: 256, seats: 1, threads: 1, gpu: 'off', signal });
      await expect(loading).rejects.toMatchObject({
        name: 'MODEL_LOAD_FAILED',
        message: expect.stringContaining('cancelled'),
      });
    });

    it('counts the tokens of each text', async () => {
      const [none, one, more] = await model.count(['', 'a', paragraphs(3)]);
      expect(none).toBe(0);
      expect(one).toBe(1);
      expect(more).toBeGreaterThan(10);
    });

    it('counts a prompt as its texts and its overhead', async () => {
      await inSequence(async (sequence) => {
        const prompt = following(ask('How are you today?'), 'I am fine, thank you.', 'Good.');
        const texts = await model.count(prompt.messages.map(({ text }) => text));
        const expected = texts.reduce((sum, count) => sum + count + model.overhead.message, model.overhead.prompt);
        const { tokens } = await say(sequence, prompt, { sampling: { max_tokens: 1 } });
        expect(Math.abs(tokens.prompt - expected)).toBeLessThanOrEqual(prompt.messages.length);
      });
    });

    it('gives its text in pieces that join to the whole', async () => {
      await inSequence(async (sequence) => {
        const { text, pieces, stopped, tokens, timings } = await say(
          sequence,
          ask('How are you today?', 'Never said before.'),
        );
        expect(text).not.toBe('');
        expect(pieces.join('')).toBe(text);
        expect(pieces.length).toBeGreaterThan(2);
        expect(pieces).not.toContain('');
        expect(stopped).toBe('end');
        expect(tokens).toMatchObject({ prompt: expect.any(Number), generated: expect.any(Number) });
        expect(timings.firstToken).toBeGreaterThan(0);
        expect(timings.total).toBeGreaterThanOrEqual(timings.firstToken);
      });
    });

    it('ends at max_tokens', async () => {
      await inSequence(async (sequence) => {
        const { stopped, tokens } = await say(sequence, ask(long), { sampling: { max_tokens: 5 } });
        expect(stopped).toBe('length');
        expect(tokens.generated).toBe(5);
      });
    });

    it('ends before a stop string wherever it lies, and sends no part of it', async () => {
      await inSequence(async (sequence) => {
        const { text } = await say(sequence, ask('How are you today?'));
        for (const at of [0, 1, 5, text.length - 4]) {
          const stop = text.slice(at, at + 4);
          const cut = await say(sequence, ask('How are you today?'), { sampling: { stop: ['no such thing', stop] } });
          expect(cut).toMatchObject({ text: text.slice(0, text.indexOf(stop)), stopped: 'stop' });
          expect(cut.pieces.join('')).toBe(cut.text);
        }
      });
    });

    it('sends what only looked like a stop string', async () => {
      await inSequence(async (sequence) => {
        const { text } = await say(sequence, ask('How are you today?'));
        const stops = [`${text.slice(2, 8)}~`, `${text.slice(-3)}~`];
        const { text: same, stopped } = await say(sequence, ask('How are you today?'), { sampling: { stop: stops } });
        expect({ same, stopped }).toEqual({ same: text, stopped: 'end' });
      });
    });

    it('does not begin for a signal that is aborted', async () => {
      await inSequence(async (sequence) => {
        const cut = await say(sequence, ask(long), { signal: AbortSignal.abort() });
        expect(cut).toMatchObject({ text: '', stopped: 'aborted', tokens: { reused: 0, generated: 0 } });
      });
    });

    it('ends at once when aborted while it reads the prompt, and reads on from there', async () => {
      await inSequence(async (sequence) => {
        const prompt = ask(`${paragraphs(40)}${long}`);
        const control = new AbortController();
        const cutting = say(sequence, prompt, { signal: control.signal });
        setTimeout(() => control.abort(), 1);
        expect((await cutting).stopped).toBe('aborted');
        const whole = await say(sequence, prompt);
        const fresh = await freshly(prompt);
        expect(whole.text).toBe(fresh.text);
      });
    });

    it('ends at once when aborted while it writes, with the text so far, and is usable afterwards', async () => {
      await inSequence(async (sequence) => {
        const whole = await freshly(ask(long));
        const control = new AbortController();
        const cut = await say(sequence, ask(long), { signal: control.signal, onText: () => control.abort() });
        expect(cut.stopped).toBe('aborted');
        expect(cut.text).toBe(cut.pieces.join(''));
        expect(whole.text.startsWith(cut.text)).toBe(true);
        expect(whole.text).not.toBe(cut.text);
        expect((await say(sequence, ask(long))).text).toBe(whole.text);
      });
    });

    it('evaluates only what is new in the next turn', async () => {
      await inSequence(async (sequence) => {
        let prompt = ask('How are you today?');
        let last = await say(sequence, prompt);
        for (const message of ['Tell me more.', 'And then?', 'Is that so?', 'Good.']) {
          prompt = following(prompt, last.text, message);
          const next = await say(sequence, prompt);
          const [news = 0] = await model.count([message]);
          const evaluated = next.tokens.prompt - next.tokens.reused;
          expect(evaluated).toBeLessThanOrEqual(news + 2 * model.overhead.message + model.overhead.prompt);
          last = next;
        }
      });
    });

    it('reuses what it warmed', async () => {
      await inSequence(async (sequence) => {
        const system = paragraphs(10);
        await sequence.warm(ask('', system), never);
        const { tokens } = await say(sequence, ask('How are you today?', system), { sampling: { max_tokens: 1 } });
        const [count = 0] = await model.count([system]);
        expect(tokens.reused).toBeGreaterThanOrEqual(count);
      });
    });

    it('keeps sequences apart that speak at once', async () => {
      const questions = ['How are you today?', 'Tell me a joke', 'What is your name?'];
      const alone: string[] = [];
      for (const question of questions) alone.push((await freshly(ask(question))).text);
      const sequences = questions.map(() => model.openSequence());
      const together = await Promise.all(
        questions.map((question, index) => say(sequences[index] ?? model.openSequence(), ask(question))),
      );
      expect(together.map(({ text }) => text)).toEqual(alone);
      await Promise.all(sequences.map((sequence) => sequence[Symbol.asyncDispose]()));
    });

    it('serves more sequences than it has seats, each with its own dialog', async () => {
      const names = ['Ann', 'Bob', 'Cid', 'Dan', 'Eve'];
      const sequences = names.map(() => model.openSequence());
      const speak = (round: number): Promise<string[]> =>
        Promise.all(
          sequences.map(async (sequence, index) => (await say(sequence, ask(`I am ${names[index]} ${round}.`))).text),
        );
      const expected: string[] = [];
      for (const name of names) expected.push((await freshly(ask(`I am ${name} 2.`))).text);
      await speak(1);
      expect(await speak(2)).toEqual(expected);
      await Promise.all(sequences.map((sequence) => sequence[Symbol.asyncDispose]()));
    });

    it('lets one generation fail without the others', async () => {
      const [good, bad] = [model.openSequence(), model.openSequence()];
      const [fine, failed] = await Promise.allSettled([
        say(good, ask('How are you today?')),
        say(bad, ask('How are you today?'), {
          onText: () => {
            throw new Error('the listener fails');
          },
        }),
      ]);
      expect(failed).toMatchObject({ status: 'rejected', reason: { message: 'the listener fails' } });
      expect(fine).toMatchObject({ status: 'fulfilled', value: { stopped: 'end' } });
      expect((await say(bad, ask('How are you today?'))).stopped).toBe('end');
      await Promise.all([good, bad].map((sequence) => sequence[Symbol.asyncDispose]()));
    });

    it('refuses a prompt that leaves no room for an answer, with both numbers', async () => {
      await inSequence(async (sequence) => {
        const refusal = say(sequence, ask(paragraphs(400)));
        await expect(refusal).rejects.toMatchObject({
          name: 'PROMPT_TOO_LARGE',
          message: expect.stringMatching(/\d{4,} tokens.*1024/),
        });
        expect((await say(sequence, ask('How are you today?'))).stopped).toBe('end');
      });
    });

    it('ends when the context is full', async () => {
      const small = await engine.load(file, { contextSize: 64, seats: 1, threads: 1, gpu: 'off' });
      const sequence = small.openSequence();
      const { stopped, tokens } = await say(sequence, ask(long), { sampling: { max_tokens: 1000 } });
      expect(stopped).toBe('length');
      expect(tokens.prompt + tokens.generated).toBe(64);
      await small[Symbol.asyncDispose]();
    });

    it('ends a generation whose sequence is disposed of', async () => {
      const sequence = model.openSequence();
      const ended: string[] = [];
      let disposal: Promise<unknown> | undefined;
      const dispose = async (): Promise<void> => {
        await sequence[Symbol.asyncDispose]();
        ended.push('disposed');
      };
      const cutting = say(sequence, ask(long), {
        sampling: { max_tokens: 500 },
        onText: () => (disposal ??= dispose()),
      });
      void cutting.then(() => ended.push('generated'));
      expect((await cutting).stopped).toBe('aborted');
      await disposal;
      expect(ended).toContain('disposed');
      expect((await say(sequence, ask(long))).stopped).toBe('aborted');
    });

    it('ends all generations when it is disposed of', async () => {
      const other = open();
      const busy = await other.load(file, { contextSize: 512, seats: 1, threads: 1, gpu: 'off' });
      const generations = [1, 2, 3].map(() => say(busy.openSequence(), ask(long), { sampling: { max_tokens: 400 } }));
      await other[Symbol.asyncDispose]();
      for (const { stopped } of await Promise.all(generations)) expect(stopped).toBe('aborted');
    });

    it('writes whole characters of any script', async () => {
      await inSequence(async (sequence) => {
        const { text, pieces } = await say(sequence, ask('Zürich, 東京, 🎉🎊 and नमस्ते'), {
          sampling: { temperature: 1.5, seed: 7, max_tokens: 100 },
        });
        for (const piece of pieces) expect(piece).not.toMatch(/\p{Surrogate}/u);
        expect(pieces.join('')).toBe(text);
      });
    });

    async function freshly(prompt: Prompt): Promise<Completion> {
      const sequence = model.openSequence();
      const completion = await say(sequence, prompt);
      await sequence[Symbol.asyncDispose]();
      return completion;
    }
  });
}
