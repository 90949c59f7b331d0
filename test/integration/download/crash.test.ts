import { describe, expect, it } from 'vitest';
import { downloadDespiteKills } from './killedDownloads.ts';

// `scripts/stress/killDownloads.mjs` asks for more than there is time for among the other tests.
const { KILLED_BYTES = '40000000', KILLS = '6', KILL_SEED = '8' } = process.env;
const kills = Number(KILLS);

describe('a download that is killed again and again', () => {
  it('is right in the end, and fetches no more than 1 MiB twice for each time', async () => {
    const { isComplete: right, resentBytes: again } = await downloadDespiteKills({
      bytes: Number(KILLED_BYTES),
      kills,
      seed: Number(KILL_SEED),
    });
    if ('KILLS' in process.env) console.log(`bytes fetched twice, for each kill: ${again.join(', ')}`);
    expect(right).toBe(true);
    expect(again).toHaveLength(kills);
    expect(Math.max(...again)).toBeLessThanOrEqual(2 ** 20);
  }, 600_000);
});
