import type { Token } from 'node-llama-cpp';
import type { Prompt } from '../../src/chat/dialog.ts';
import type { GenerateOptions, Sequence } from '../../src/inference/contract/engine.ts';
import type { SamplingParams } from '../../src/inference/contract/samplingParams.ts';
import { generate } from '../contracts/generation.ts';
import { contextSize, type Demo } from './demo.ts';

/** Probabilities of the first token of an answer, most probable first. */
export type Distribution = ReadonlyMap<string, number>;

/** What the first token of an answer is: the end of the text, or a part of it. */
export const labelOf = ({ weights, tokenizer }: Demo, token: Token): string =>
  weights.isEogToken(token) ? 'end' : `more ${tokenizer.detokenize([token], [], false).replace(/\uFFFD+$/, '')}`;

/** Reads the distribution of the first token at temperature 1 without truncation, directly from node-llama-cpp. */
export async function firstTokenDistribution(demo: Demo, prompt: Prompt): Promise<Distribution> {
  const context = await demo.weights.createContext({ contextSize, batchSize: 256, threads: 1, flashAttention: true });
  const tokens = demo.renderer.tokens(demo.renderer.render(prompt));
  const last = tokens.pop();
  if (last === undefined) throw new Error('an empty prompt');
  const options = { temperature: 1, minP: 0, topP: 1, topK: 0 };
  const results = await context
    .getSequence()
    .controlledEvaluate([...tokens, [last, { generateNext: { probabilities: true, options } }]]);
  await context.dispose();
  const likely = new Map<string, number>();
  for (const [token, p] of results.at(-1)?.next.probabilities ?? []) {
    const label = labelOf(demo, token);
    likely.set(label, (likely.get(label) ?? 0) + p);
  }
  return new Map([...likely].toSorted(([, a], [, b]) => b - a));
}

/** Multiplies probabilities by weights, and makes their sum 1. */
export function weighted(distribution: Distribution, weightOf: (label: string, p: number) => number): Distribution {
  const weights = [...distribution].map(([label, p]) => [label, p * weightOf(label, p)] as const);
  const sum = weights.reduce((all, [, weight]) => all + weight, 0);
  return new Map(weights.map(([label, weight]) => [label, weight / sum]));
}

/** Samples the first token with the seeds from 1 to `count`. Returns how often each was sampled. */
export async function sampleFirstTokens(
  sequence: Sequence,
  prompt: Prompt,
  sampling: Partial<SamplingParams>,
  { count, ...options }: { readonly count: number } & Partial<Omit<GenerateOptions, 'sampling'>>,
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (let seed = 1; seed <= count; seed++) {
    const { text, finishReason } = await generate(sequence, prompt, {
      ...options,
      sampling: { max_tokens: 1, seed, ...sampling },
    });
    const label = finishReason === 'end' ? 'end' : `more ${text}`;
    counts.set(label, (counts.get(label) ?? 0) + 1);
  }
  return counts;
}

/** By how many standard deviations of its expected number a label was sampled too often or too rarely; one draw is allowed. */
export function deviation(counts: ReadonlyMap<string, number>, label: string, p: number): number {
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const difference = Math.max(0, Math.abs((counts.get(label) ?? 0) - p * total) - 1);
  return difference === 0 ? 0 : difference / Math.sqrt(total * p * (1 - p));
}
