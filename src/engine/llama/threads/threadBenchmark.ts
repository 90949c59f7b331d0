import type { LlamaContext } from 'node-llama-cpp';
import type { ThreadTimings } from './threadTuner.ts';

// Milliseconds for all counts together, and tokens for each: on a large model the tokens take longer.
const budgetMs = 400;
const [minTokens, maxTokens] = [3, 32];

/**
 * Times a model's next token with each count of threads.
 * @param applyThreads makes the context use a count from its next batch on.
 */
export async function benchmarkThreads(
  context: LlamaContext,
  counts: readonly number[],
  applyThreads: (count: number) => void,
): Promise<ThreadTimings> {
  const { model } = context;
  const first = model.tokens.bos ?? model.tokenize('a')[0];
  if (first === undefined) return new Map();
  const sequence = context.getSequence();
  const draws = sequence.evaluate([first], { temperature: 0, yieldEogToken: true });
  try {
    const times = new Map<number, number>();
    for (const count of counts) {
      applyThreads(count);
      // The first is slower: weights come from disk, threads wake up.
      await draws.next();
      times.set(count, await medianTokenMs(draws, budgetMs / counts.length));
    }
    return times;
  } finally {
    await draws.return();
    await sequence.dispose();
  }
}

/** The median milliseconds of a token. */
async function medianTokenMs(draws: AsyncGenerator<unknown>, budgetMs: number): Promise<number> {
  const times: number[] = [];
  const start = performance.now();
  for (let before = start; times.length < maxTokens;) {
    if (times.length >= minTokens && before - start > budgetMs) break;
    await draws.next();
    const now = performance.now();
    times.push(now - before);
    before = now;
  }
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Infinity;
}
