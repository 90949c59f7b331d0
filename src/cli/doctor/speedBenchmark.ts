import type { Completion, Model, SamplingParams } from '../../inference/contract/engine.ts';

/** Speed of one sequence that runs alone, in tokens per second; undefined: not measurable, too few tokens came. */
export interface Speed {
  /** Prompt tokens evaluated per second (pp of llama-bench). */
  readonly prefillPerSecond: number | undefined;
  /** Tokens generated per second (tg of llama-bench). */
  readonly decodePerSecond: number | undefined;
}

/** Options of a speed benchmark. */
export interface SpeedOptions {
  readonly sampling: SamplingParams;
  readonly signal: AbortSignal;
}

// The warm-up estimates the prefill speed; the timed prompt then takes about `targetPrefillSeconds`.
const warmUpTokens = 48;
const [minPromptTokens, maxPromptTokens] = [64, 512];
const targetPrefillSeconds = 3;
const decodeTokens = 32;

/** Speed benchmark: measures prefill and decode of a model. @throws Fault of the engine, or the signal's reason. */
export async function measureSpeed(model: Model, { sampling, signal }: SpeedOptions): Promise<Speed> {
  const maxTokens = Math.floor(model.contextSize / 2);
  const run = async (character: string, tokens: number): Promise<Completion> => {
    await using sequence = model.openSequence();
    const text = await createStoryPrompt(model, character, Math.min(tokens, maxTokens));
    const completion = await sequence.generate(
      { messages: [{ role: 'user', text }], thinking: false },
      { sampling: { ...sampling, temperature: 0, max_tokens: decodeTokens, stop: [] }, signal },
    );
    signal.throwIfAborted();
    return completion;
  };
  const warmUpRate = prefillRate(await run('guest', warmUpTokens)) ?? 0;
  const timed = await run(
    'traveller',
    Math.max(minPromptTokens, Math.min(maxPromptTokens, warmUpRate * targetPrefillSeconds)),
  );
  // Some models answer briefly: run more prompts until enough tokens were generated.
  const runs: Completion[] = [timed];
  for (const character of ['sailor', 'wizard', 'farmer']) {
    if (countDecodeSteps(runs) < decodeTokens - 1) runs.push(await run(character, warmUpTokens));
  }
  return {
    prefillPerSecond: prefillRate(timed),
    decodePerSecond: tokensPerSecond(countDecodeSteps(runs), sum(runs.map(decodeMs))),
  };
}

const prefillRate = ({ tokens, timings }: Completion): number | undefined =>
  tokensPerSecond(tokens.prompt - tokens.reused, timings.firstTokenMs - timings.queuedMs);

// Decode steps: the first token belongs to prefill; the end-of-generation token is a step, but not in `generated`.
const countDecodeSteps = (completions: readonly Completion[]): number =>
  sum(completions.map(({ tokens, finishReason }) => Math.max(0, tokens.generated - (finishReason === 'end' ? 0 : 1))));

const decodeMs = ({ timings }: Completion): number =>
  timings.firstTokenMs === 0 ? 0 : timings.totalMs - timings.firstTokenMs;

const tokensPerSecond = (tokens: number, ms: number): number | undefined =>
  tokens > 0 && ms > 0 ? (tokens * 1000) / ms : undefined;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

/** Creates a prompt of about `tokens` tokens that asks for a long text. */
async function createStoryPrompt(model: Model, character: string, tokens: number): Promise<string> {
  const line = (index: number): string => `On day ${index} a ${character} came to the inn and asked for a room. `;
  const [tokensPerLine = 1] = await model.count([line(10)]);
  const lines = Array.from({ length: Math.max(1, Math.round(tokens / tokensPerLine)) }, (_, index) => line(index + 1));
  return `${lines.join('')}Tell me a long story about the ${character}.`;
}
