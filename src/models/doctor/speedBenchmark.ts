import type { Completion, Model, SamplingParams } from '../../engine/engine.ts';

/** Tokens a second, of one that speaks alone; undefined: nothing came that could be timed. */
export interface Speed {
  readonly prefillPerSecond: number | undefined;
  readonly decodePerSecond: number | undefined;
}

export interface SpeedOptions {
  readonly sampling: SamplingParams;
  readonly signal: AbortSignal;
}

// Tokens: a warm-up, and what is timed: as much as is read in a few seconds.
const warmUpTokens = 48;
const [minPromptTokens, maxPromptTokens] = [64, 512];
const prefillSeconds = 3;
const decodeTokens = 32;

/** Measures how fast a model reads a prompt and writes an answer. @throws Fault what the engine throws. */
export async function measureSpeed(model: Model, { sampling, signal }: SpeedOptions): Promise<Speed> {
  const room = Math.floor(model.contextSize / 2);
  const ask = async (who: string, tokens: number): Promise<Completion> => {
    await using sequence = model.openSequence();
    const text = await createStoryPrompt(model, who, Math.min(tokens, room));
    const completion = await sequence.generate(
      { messages: [{ role: 'user', text }], thinking: false },
      { sampling: { ...sampling, temperature: 0, max_tokens: decodeTokens, stop: [] }, signal },
    );
    signal.throwIfAborted();
    return completion;
  };
  const first = prefillRate(await ask('guest', warmUpTokens)) ?? 0;
  const timed = await ask('traveller', Math.max(minPromptTokens, Math.min(maxPromptTokens, first * prefillSeconds)));
  // Some say little, and have to be asked more than once.
  const more: Completion[] = [timed];
  for (const who of ['sailor', 'wizard', 'farmer']) {
    if (countDecodeSteps(more) < decodeTokens - 1) more.push(await ask(who, warmUpTokens));
  }
  return {
    prefillPerSecond: prefillRate(timed),
    decodePerSecond: tokensPerSecond(countDecodeSteps(more), sum(more.map(decodeMs))),
  };
}

const prefillRate = ({ tokens, timings }: Completion): number | undefined =>
  tokensPerSecond(tokens.prompt - tokens.reused, timings.firstTokenMs - timings.queuedMs);

// The first token is the end of reading; the end of an answer is a token, too.
const countDecodeSteps = (completions: readonly Completion[]): number =>
  sum(completions.map(({ tokens, stopped }) => Math.max(0, tokens.generated - (stopped === 'end' ? 0 : 1))));

const decodeMs = ({ timings }: Completion): number =>
  timings.firstTokenMs === 0 ? 0 : timings.totalMs - timings.firstTokenMs;

const tokensPerSecond = (tokens: number, ms: number): number | undefined =>
  tokens > 0 && ms > 0 ? (tokens * 1000) / ms : undefined;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

/** About so many tokens of text that ask for more text. */
async function createStoryPrompt(model: Model, who: string, tokens: number): Promise<string> {
  const line = (index: number): string => `On day ${index} a ${who} came to the inn and asked for a room. `;
  const [each = 1] = await model.count([line(10)]);
  const lines = Array.from({ length: Math.max(1, Math.round(tokens / each)) }, (_, index) => line(index + 1));
  return `${lines.join('')}Tell me a long story about the ${who}.`;
}
