import { describe, expect, it } from 'vitest';
import { ReplayBuffer } from '../../../../src/server/session/outgoingFrames.ts';

const proto = 'turngraph.v1.proto';
const json = 'turngraph.v1.json';

describe('the replay buffer of a session', () => {
  it('gives each frame as it was added, with its codec', () => {
    const buffer = new ReplayBuffer(1000);
    buffer.add('wörd', json);
    buffer.add(Uint8Array.of(1, 2, 3), proto);
    buffer.add('', json);
    expect(buffer.get(1)).toEqual({ subprotocol: json, bytes: Buffer.from('wörd') });
    expect(buffer.get(2)).toEqual({ subprotocol: proto, bytes: Buffer.from([1, 2, 3]) });
    expect(buffer.get(3)).toEqual({ subprotocol: json, bytes: Buffer.alloc(0) });
    expect([buffer.get(0), buffer.get(4)]).toEqual([undefined, undefined]);
    expect(buffer.bytes).toBe(8);
  });

  it('drops the oldest frames above its limit, and keeps those that are not written yet', () => {
    const buffer = new ReplayBuffer(100);
    for (let count = 1; count <= 10; count++) buffer.add('x'.repeat(30), json);
    buffer.trim(2);
    expect(buffer.firstSeq).toBe(3);
    buffer.trim(10);
    expect(buffer).toMatchObject({ firstSeq: 8, bytes: 90 });
    expect(buffer.get(7)).toBeUndefined();
    expect(buffer.get(8)?.bytes.toString()).toBe('x'.repeat(30));
  });

  it('keeps nothing with a limit of zero, and numbers go on', () => {
    const buffer = new ReplayBuffer(0);
    for (let seq = 1; seq <= 5000; seq++) {
      expect(buffer.add(`frame ${seq}`, json).toString()).toBe(`frame ${seq}`);
      buffer.trim(seq);
    }
    expect(buffer).toMatchObject({ firstSeq: 5001, bytes: 0 });
  });

  it('holds frames of all sizes in memory of about their bytes', () => {
    const maxBytes = 1_000_000;
    const buffer = new ReplayBuffer(maxBytes);
    const sizes = [20, 60_000, 300, 33_000, 5, 16_000, 9_000];
    for (let seq = 1; seq <= 2000; seq++) {
      buffer.add(Buffer.alloc(sizes[seq % sizes.length] ?? 0, seq), proto);
      buffer.trim(seq);
    }
    const memory = new Set<ArrayBufferLike>();
    for (let seq = buffer.firstSeq; seq <= 2000; seq++) {
      const bytes = buffer.get(seq)?.bytes;
      expect(bytes?.equals(Buffer.alloc(sizes[seq % sizes.length] ?? 0, seq))).toBe(true);
      if (bytes) memory.add(bytes.buffer);
    }
    expect(buffer.bytes).toBeLessThanOrEqual(maxBytes);
    const held = [...memory].reduce((sum, { byteLength }) => sum + byteLength, 0);
    expect(held).toBeLessThan(1.5 * maxBytes);
  });
});
