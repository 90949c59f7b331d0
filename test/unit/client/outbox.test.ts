import { describe, expect, it } from 'vitest';
import { Outbox, type OutgoingFrame } from '../../../src/client/outbox.ts';

const limits = { keptBytes: 100, queuedBytes: 100, queuedFrames: 5 };
const frame = (requestId: number, bytes = 10): OutgoingFrame => ({ requestId, data: `frame ${requestId}`, bytes });
const idsOf = (frames: readonly OutgoingFrame[]): readonly number[] => frames.map(({ requestId }) => requestId);

/** An outbox that has sent frames with these ids. */
function outboxAfter(...requestIds: readonly number[]): Outbox {
  const outbox = new Outbox({ ...limits, queuedFrames: 1000 });
  for (const requestId of requestIds) {
    outbox.add(frame(requestId));
    outbox.takeQueued();
  }
  return outbox;
}

describe('the outbox of a session', () => {
  it('gives the frames that wait once, in order', () => {
    const outbox = new Outbox(limits);
    outbox.add(frame(1));
    outbox.add(frame(2));
    expect(idsOf(outbox.takeQueued())).toEqual([1, 2]);
    outbox.add(frame(3));
    expect(idsOf(outbox.takeQueued())).toEqual([3]);
  });

  it('gives again those that the server has not received, before those that wait', () => {
    const outbox = outboxAfter(1, 2, 4, 7);
    outbox.add(frame(8));
    expect(outbox.rewind(2)).toBe(2);
    expect(idsOf(outbox.takeQueued())).toEqual([4, 7, 8]);
    expect(outbox.rewind(4)).toBe(1);
    expect(idsOf(outbox.takeQueued())).toEqual([8]);
    expect(outbox.rewind(5)).toBe(0);
    expect(outbox.takeQueued()).toEqual([]);
  });

  it('holds no frame after an answer to it or to a later one', () => {
    const outbox = outboxAfter(1, 2, 4, 7);
    outbox.acknowledge(3);
    expect(outbox.bytes).toBe(20);
    outbox.acknowledge(1);
    expect(outbox.bytes).toBe(20);
    expect(outbox.rewind(1)).toBeUndefined();
    expect(outbox.rewind(3)).toBe(1);
    expect(idsOf(outbox.takeQueued())).toEqual([7]);
    outbox.acknowledge(7);
    expect(outbox.bytes).toBe(0);
    expect(outbox.rewind(5)).toBeUndefined();
    expect(outbox.rewind(4)).toBe(0);
  });

  it('forgets the oldest sent frames above its limit', () => {
    const outbox = outboxAfter(...Array.from({ length: 13 }, (_, index) => index + 1));
    expect(outbox.bytes).toBe(100);
    expect(outbox.rewind(2)).toBeUndefined();
    expect(outbox.rewind(3)).toBe(10);
    expect(idsOf(outbox.takeQueued())).toEqual([4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
    const without = new Outbox({ ...limits, keptBytes: 0 });
    without.add(frame(1));
    expect(idsOf(without.takeQueued())).toEqual([1]);
    expect(without.bytes).toBe(0);
  });

  it('withdraws a frame that waits, and none that was sent', () => {
    const outbox = outboxAfter(1);
    outbox.add(frame(2));
    outbox.add(frame(3));
    for (const requestId of [1, 2, 9]) outbox.withdraw(requestId);
    expect(outbox.bytes).toBe(20);
    expect(outbox.rewind(0)).toBe(1);
    expect(idsOf(outbox.takeQueued())).toEqual([1, 3]);
  });

  it('refuses frames when too many wait, or too many bytes', () => {
    const many = new Outbox(limits);
    for (let requestId = 1; requestId <= 5; requestId++) many.add(frame(requestId));
    expect(() => many.add(frame(6))).toThrow(expect.objectContaining({ code: 2005 }) as Error);
    const large = new Outbox(limits);
    large.add(frame(1, 60));
    expect(() => large.add(frame(2, 41))).toThrow(/not more than 5 requests or 100 bytes wait for it/);
    large.add(frame(3, 40));
    expect(idsOf(large.takeQueued())).toEqual([1, 3]);
    large.add(frame(4, 100));
    expect(idsOf(large.takeQueued())).toEqual([4]);
  });
});
