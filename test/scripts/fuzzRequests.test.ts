import { describe, expect, it } from 'vitest';
import { fuzz } from '../../scripts/fuzz/requests.mjs';
import { calibrate } from '../../scripts/fuzz/requests/monitors.mjs';

describe('the server, under structured requests of hostile sizes', () => {
  // Units of work that a request may hold the event loop for: 100 ms on a machine that has nothing else to do.
  const maxUnits = 8;

  it('holds the event loop for a few units of work at most, and stays below its memory bound', async () => {
    const lines: string[] = [];
    const log = (line: string): void => void lines.push(line);
    const tally = await fuzz({ count: 300, seed: 20_260, log, maxHold: () => Math.max(100, maxUnits * calibrate()) });
    expect(tally.violations, lines.join('\n')).toEqual([]);
    expect(tally.turns).toBeGreaterThan(50);
    expect(tally.errors).toBeGreaterThan(20);
  }, 240_000);
});
