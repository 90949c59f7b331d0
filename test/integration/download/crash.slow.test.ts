import { describe, expect, it } from 'vitest';
import { downloadDespiteKills } from './killedDownloads.ts';

// `scripts/stress/killDownloads.mjs` runs this test with more bytes and more kills.
const { KILLED_BYTES = '8000000', KILLS = '4', KILL_SEED = '8' } = process.env;
const kills = Number(KILLS);

describe('a download that is killed again and again', () => {
  it('is complete in the end, and downloads at most 1 MiB again for each kill', async () => {
    const { isComplete, resentBytes } = await downloadDespiteKills({
      bytes: Number(KILLED_BYTES),
      kills,
      seed: Number(KILL_SEED),
    });
    if ('KILLS' in process.env) console.log(`bytes downloaded again, for each kill: ${resentBytes.join(', ')}`);
    expect(isComplete).toBe(true);
    expect(resentBytes).toHaveLength(kills);
    expect(Math.max(...resentBytes)).toBeLessThanOrEqual(2 ** 20);
  }, 600_000);
});
