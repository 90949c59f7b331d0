import type { LlamaContext } from 'node-llama-cpp';
import { mean } from './averages.ts';
import type { ThreadTimings } from './threadTuner.ts';

/** For all thread counts together. */
const budgetMs = 400;
// Tokens decoded with each count. On a large model the minimum takes longer than the budget.
const [minTokens, maxTokens] = [3, 32];

/**
 * Thread benchmark: times the decoding of one token with each thread count, in about 0.4 s in all.
 * @param applyThreads makes the context use a count from its next batch on.
 * @returns an empty map when the model has no token to start with.
 */
export async function benchmarkThreads(
  context: LlamaContext,
  counts: readonly number[],
  applyThreads: (count: number) => void,
): Promise<ThreadTimings> {
  const { model } = context;
  const firstToken = model.tokens.bos ?? model.tokenize('a')[0];
  if (firstToken === undefined) return new Map();
  const sequence = context.getSequence();
  const tokens = sequence.evaluate([firstToken], { temperature: 0, yieldEogToken: true });
  try {
    const timings = new Map<number, number>();
    for (const count of counts) {
      applyThreads(count);
      // The first token is slower: weights are read from disk, threads start.
      await tokens.next();
      timings.set(count, await meanTokenMs(tokens, budgetMs / counts.length));
    }
    return timings;
  } finally {
    await tokens.return();
    await sequence.dispose();
  }
}

/** The mean milliseconds of a token, without the slowest one: it may have read weights from disk. */
async function meanTokenMs(tokens: AsyncGenerator<unknown>, budgetMs: number): Promise<number> {
  const tokenMs: number[] = [];
  const start = performance.now();
  for (let previous = start; tokenMs.length < maxTokens;) {
    if (tokenMs.length >= minTokens && previous - start > budgetMs) break;
    await tokens.next();
    const now = performance.now();
    tokenMs.push(now - previous);
    previous = now;
  }
  return mean(tokenMs.toSorted((a, b) => a - b).slice(0, -1));
}
