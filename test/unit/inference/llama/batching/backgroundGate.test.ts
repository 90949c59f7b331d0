import { describe, expect, it } from 'vitest';
import { BackgroundGate } from '../../../../../src/inference/llama/batching/backgroundGate.ts';

describe('the background gate', () => {
  it('is open while no urgent inference runs', () => {
    const gate = new BackgroundGate();
    gate.begin(0);
    gate.end(100, 100);
    expect(gate.waitMs(100)).toBe(0);
  });

  it('lets through one part in twenty of the time while one runs', () => {
    const gate = new BackgroundGate();
    gate.close(0);
    let now = 10_000;
    let busyMs = 0;
    while (now < 110_000) {
      now += gate.waitMs(now);
      gate.begin(now);
      now += 50;
      busyMs += 50;
      gate.end(50, now);
    }
    expect(busyMs).toBeGreaterThan(4000);
    expect(busyMs).toBeLessThan(5200);
  });

  it('lets through one step at a time, and short ones not at once', () => {
    const gate = new BackgroundGate();
    gate.close(0);
    expect(gate.waitMs(1)).toBe(999);
    expect(gate.waitMs(1000)).toBe(0);
    gate.begin(1000);
    expect(gate.waitMs(1000)).toBe(200);
    gate.end(1, 1001);
    expect(gate.waitMs(1001)).toBe(199);
  });

  it('lets through the first one when that is one part in twenty: as late as the steps are long', () => {
    const gate = new BackgroundGate();
    gate.end(400, 0);
    gate.end(2, 0);
    gate.close(10_000);
    expect(gate.waitMs(10_000)).toBeGreaterThan(7000);
    gate.open();
    for (let step = 0; step < 300; step++) gate.end(2, 10_000);
    gate.close(20_000);
    expect(gate.waitMs(20_000)).toBe(200);
  });

  it('opens when the last urgent inference has ended', () => {
    const gate = new BackgroundGate();
    let opened = 0;
    gate.onOpen(() => opened++);
    gate.close(0);
    gate.close(0);
    gate.begin(1000);
    gate.open();
    expect([gate.isClosed, opened]).toEqual([true, 0]);
    gate.open();
    expect([gate.isClosed, opened, gate.waitMs(1000)]).toEqual([false, 1, 0]);
  });
});
