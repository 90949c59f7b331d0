import { describe, expect, it } from 'vitest';
import { FrameSequence } from '../../../src/client/connection.ts';

describe('the sequence numbers of a session', () => {
  it('accept each frame once, and those with 0 always', () => {
    const sequence = new FrameSequence();
    expect([0, 1, 2, 2, 1, 0, 3].map((seq) => sequence.accept(seq))).toEqual([
      true,
      true,
      true,
      false,
      false,
      true,
      true,
    ]);
    expect(sequence.last).toBe(3);
  });

  it('refuse a gap, and keep their place', () => {
    const sequence = new FrameSequence();
    sequence.accept(1);
    expect(() => sequence.accept(3)).toThrow(
      expect.objectContaining({
        code: 5001,
        message: 'the server sent the frame with seq 3 after 1, so frames are missing; connect again',
      }) as Error,
    );
    expect([sequence.last, sequence.accept(2)]).toEqual([1, true]);
  });

  it('allow a gap of as many frames as could not be read', () => {
    const sequence = new FrameSequence();
    sequence.skipUnknown();
    sequence.skipUnknown();
    expect(sequence.accept(3)).toBe(true);
    expect(() => sequence.accept(5)).toThrow(/missing/);
    sequence.skipUnknown();
    sequence.restart();
    expect(() => sequence.accept(5)).toThrow(/missing/);
  });
});
