import { describe, expect, it } from 'vitest';
import { isPlentiful, moreSlots, SlotDemand } from '../../../../../src/inference/llama/kvCache/slotResizer.ts';

const second = 1000;
const gigabytes = (ram: number, vram = 0) => ({ ram: ram * 2 ** 30, vram: vram * 2 ** 30 });

/** Adds waits for one of four slots at these times, in seconds; returns what the last one says. */
function addWaits(times: readonly number[], prepare: (demand: SlotDemand) => void = () => {}): boolean {
  let now = 0;
  const demand = new SlotDemand(() => now);
  prepare(demand);
  let isWanted = false;
  for (const time of times) {
    now = time * second;
    isWanted = demand.add(4);
  }
  return isWanted;
}

describe('the demand for slots', () => {
  const eight = [1, 1, 1, 1, 2, 2, 2, 2];

  it.each([
    ['is there when twice as many requests as slots have waited', eight, true],
    ['is not there before', eight.slice(1), false],
    ['is there when the last eight waits are within a minute', [0, 1, 61, 62, 63, 64, 65, 66, 119, 120], true],
    ['is not there when they are further apart', [0, 10, 20, 30, 40, 50, 55, 61], false],
  ])('%s', (_, times, expected) => {
    expect(addWaits(times)).toBe(expected);
  });

  it('is counted anew after a change', () => {
    const demand = new SlotDemand(() => 0);
    for (const _ of eight) demand.add(4);
    demand.reset();
    expect(demand.add(4)).toBe(false);
  });

  it('counts again a minute after there was too little memory', () => {
    const pause = (demand: SlotDemand): void => demand.pause();
    expect(addWaits(eight, pause)).toBe(false);
    expect(addWaits([...eight, 55, 56, 57, 58, 59, 61, 61], pause)).toBe(true);
  });
});

describe('the next number of slots', () => {
  it.each([
    [1, 2],
    [3, 6],
    [4, 8],
    [8, 16],
    [12, 16],
    [16, 16],
    [20, 20],
  ])('of a context with %i is %i', (slots, more) => {
    expect(moreSlots(slots)).toBe(more);
  });
});

describe('memory', () => {
  it.each([
    ['is plentiful when a quarter of it is wanted', gigabytes(1), gigabytes(4), true],
    ['is not when more is wanted', gigabytes(1.1), gigabytes(4), false],
    ['is not when less than a gigabyte would stay free', gigabytes(0.2), gigabytes(1.1), false],
    ['is looked at of the card, too', gigabytes(0.1, 1), gigabytes(8, 3), false],
    ['is plentiful on the card', gigabytes(0.1, 1), gigabytes(8, 4), true],
    ['need not be there where none is wanted', gigabytes(1, 0), gigabytes(4, 0), true],
  ])('%s', (_, more, free, expected) => {
    expect(isPlentiful(more, free)).toBe(expected);
  });
});
