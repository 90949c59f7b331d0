import { describe, expect, it, vi } from 'vitest';
import type { Engine } from '../../../../../src/inference/contract/engine.ts';
import { mockEngine } from '../../../../../src/inference/mock/engine.ts';

// What was measured is remembered as long as the module is.
vi.resetModules();
const { readMachine } = await import('../../../../../src/inference/models/suggestions/machine.ts');

describe('the machine', () => {
  it('is measured when turns let it, and once more if they computed meanwhile', async () => {
    const waits: string[] = [];
    const turns = (name: string, areComputing: boolean) => ({
      untilIdle: async () => void waits.push(name),
      areComputing: () => areComputing,
    });
    await using engine = mockEngine();
    const { bandwidth, cores, totalRam, freeRam, problem } = await readMachine(engine, 'off', turns('busy', true));
    expect(bandwidth).toBeGreaterThan(0);
    expect(cores).toBeGreaterThan(0);
    expect(freeRam).toBeLessThanOrEqual(totalRam);
    expect(problem).toBe('the engine reports no hardware');
    const [first, second] = await Promise.all([
      readMachine(engine, 'off', turns('idle', false)),
      readMachine(engine, 'off', turns('joins', false)),
    ]);
    expect(second.bandwidth).toBe(first.bandwidth);
    expect((await readMachine(engine, 'off', turns('later', false))).bandwidth).toBe(first.bandwidth);
    expect(waits).toEqual(['busy', 'idle']);
  });

  it('has a reason where the card cannot be read', async () => {
    const readHardware = async () => Promise.reject(new Error('the driver is broken'));
    const engine: Engine = { ...mockEngine(), readHardware };
    expect(await readMachine(engine, 'auto')).toMatchObject({ card: undefined, problem: 'the driver is broken' });
  });
});
