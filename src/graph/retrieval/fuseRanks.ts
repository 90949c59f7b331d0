import type { RankedEntry } from './vectorSearch.ts';

/** Reciprocal rank fusion, the constant of its paper (Cormack, Clarke, Büttcher 2009). */
const rankConstant = 60;

/** Fuses rankings by reciprocal rank fusion: an entry's score is the sum of 1 / (60 + rank) over the rankings that have it. */
export function fuseRanks(rankings: readonly (readonly RankedEntry[])[]): readonly RankedEntry[] {
  const scores = new Map<number, number>();
  for (const ranking of rankings)
    for (const [rank, { index }] of ranking.entries())
      scores.set(index, (scores.get(index) ?? 0) + 1 / (rankConstant + rank + 1));
  return [...scores].map(([index, score]) => ({ index, score })).sort((a, b) => b.score - a.score);
}
