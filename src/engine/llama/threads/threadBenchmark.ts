import type { LlamaContext } from 'node-llama-cpp';
import type { ThreadTimes } from './threadTuner.ts';

// Milliseconds for all counts together, and tokens for each: on a large model the tokens take longer.
const budget = 400;
const [fewestTokens, mostTokens] = [3, 32];

/**
 * Times a model's next token with each count of threads.
 * @param take makes the context use a count from its next batch on.
 */
export async function timeThreads(
  context: LlamaContext,
  counts: readonly number[],
  take: (count: number) => void,
): Promise<ThreadTimes> {
  const { model } = context;
  const first = model.tokens.bos ?? model.tokenize('a')[0];
  if (first === undefined) return new Map();
  const sequence = context.getSequence();
  const draws = sequence.evaluate([first], { temperature: 0, yieldEogToken: true });
  try {
    const times = new Map<number, number>();
    for (const count of counts) {
      take(count);
      // The first is slower: weights come from disk, threads wake up.
      await draws.next();
      times.set(count, await timed(draws, budget / counts.length));
    }
    return times;
  } finally {
    await draws.return();
    await sequence.dispose();
  }
}

/** The median milliseconds of a token. */
async function timed(draws: AsyncGenerator<unknown>, budgetMs: number): Promise<number> {
  const times: number[] = [];
  const start = performance.now();
  for (let before = start; times.length < mostTokens;) {
    if (times.length >= fewestTokens && before - start > budgetMs) break;
    await draws.next();
    const now = performance.now();
    times.push(now - before);
    before = now;
  }
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Infinity;
}
