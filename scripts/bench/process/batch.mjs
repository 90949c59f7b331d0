// Tokens per second of 8 concurrent agents, as in the case `batch` (model mid).
import { batchRate, openBatchSide, slots } from '../cases/batch.mjs';
import { measureInterleaved } from '../results.mjs';
import { openSides, ratioResult } from './sides.mjs';

/** Measures both sides. */
export async function batch(bench) {
  bench.log('batch');
  const file = await bench.file('mid');
  const sides = await openSides(bench, { file, flags: { slots } }, openBatchSide);
  const rounds = await measureInterleaved(sides, bench.repeats(7, 3));
  return [
    ratioResult({
      of: `batch, mid, ${slots} at once`,
      child: batchRate(rounds.child),
      inProcess: batchRate(rounds.in),
      unit: 'TokensPerSecond',
      goal: 0.95,
      better: 'higher',
    }),
  ];
}
