import { describe, expect, it } from 'vitest';
import { setImmediate as nextRound } from 'node:timers/promises';
import { type FrameWriter, OutgoingFrames, ReplayBuffer } from '../../../../src/server/session/outgoingFrames.ts';
import { clientCodecs, type Subprotocol } from '../../../../src/protocol/codec/codec.ts';
import { Gate } from '../../../helpers/gate.ts';

/** A connection that records the seq of each frame; while its gate is closed it does not read. */
class FakeConnection implements FrameWriter {
  readonly subprotocol: Subprotocol;
  readonly seqs: number[] = [];
  readonly gate = new Gate();

  constructor(subprotocol: Subprotocol = 'turngraph.v1.json') {
    this.subprotocol = subprotocol;
    this.gate.open();
  }

  write(bytes: Uint8Array): void {
    const decoded = clientCodecs[this.subprotocol].decode(bytes);
    if (!decoded.ok) throw decoded.fault;
    this.seqs.push(decoded.frame.seq);
  }

  drained(): Promise<void> | undefined {
    return this.gate.closed;
  }
}

const from = (first: number, last: number): readonly number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

function createFrames(maxReplayBytes = 1_000_000): { readonly frames: OutgoingFrames; readonly errors: unknown[] } {
  const errors: unknown[] = [];
  return { frames: new OutgoingFrames(maxReplayBytes, (error) => errors.push(error)), errors };
}

const emit = (frames: OutgoingFrames, count: number): void => {
  for (let index = 0; index < count; index++) frames.emit(1, 'ack', {});
};

describe('the outgoing frames of a session', () => {
  it('are under backpressure during a replay, and new ones come after it', async () => {
    const { frames } = createFrames();
    frames.attach(new FakeConnection(), 0);
    emit(frames, 500);
    frames.detach();
    emit(frames, 500);
    const second = new FakeConnection('turngraph.v1.proto');
    frames.attach(second, 400);
    expect(second.seqs.length).toBeLessThan(600);
    const replayed = frames.backpressure();
    expect(replayed).toBeInstanceOf(Promise);
    emit(frames, 5);
    expect(second.seqs).not.toContain(1001);
    await replayed;
    expect(frames.backpressure()).toBeUndefined();
    emit(frames, 1);
    expect(second.seqs).toEqual(from(401, 1006));
  });

  it('are not replayed to a connection that does not read, and are kept for it above the limit', async () => {
    const { frames, errors } = createFrames(20_000);
    frames.attach(new FakeConnection(), 0);
    emit(frames, 400);
    frames.detach();
    const second = new FakeConnection();
    frames.attach(second, 0);
    second.gate.close();
    const written = second.seqs.length;
    // These exceed the limit of kept frames, but what the connection has yet to get is not dropped.
    emit(frames, 2000);
    for (let round = 0; round < 10; round++) await nextRound();
    expect(second.seqs.length).toBe(written);
    second.gate.open();
    await frames.backpressure();
    expect(second.seqs).toEqual(from(1, 2400));
    expect(frames.replayBytes).toBeLessThanOrEqual(20_000);
    expect(errors).toEqual([]);
  });

  it('stop going to a connection that is detached during a replay', async () => {
    const { frames } = createFrames();
    emit(frames, 1000);
    const [first, second] = [new FakeConnection(), new FakeConnection()];
    frames.attach(first, 0);
    const replayed = frames.backpressure();
    frames.detach();
    expect(frames.backpressure()).toBeUndefined();
    frames.attach(second, 990);
    await replayed;
    expect(first.seqs.length).toBeLessThan(1000);
    expect(second.seqs).toEqual(from(991, 1000));
    expect(frames.lastSent).toBe(1000);
  });
});

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
