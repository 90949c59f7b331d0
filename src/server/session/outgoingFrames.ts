import { setImmediate as nextRound } from 'node:timers/promises';
import { clientCodecs, serverCodecs, type Subprotocol } from '../../protocol/codec/codec.ts';
import type { ServerFrame, ServerFrameBodies } from '../../protocol/frames.gen.ts';
import { serverFrame } from '../../protocol/codec/frame.ts';

/** Where the frames of a session are written: its connection. */
export interface FrameWriter {
  readonly subprotocol: Subprotocol;
  write(bytes: Uint8Array): void;
  /** Undefined while the client reads fast enough; else a promise that resolves when it has caught up, or has left. */
  drained(): Promise<void> | undefined;
}

// A replay gives way to other work after this many bytes, and after this many frames.
const sliceBytes = 64 * 1024;
const sliceFrames = 128;

/**
 * The outgoing frames of a session: numbers and encodes them, keeps them in a replay buffer and writes them to the
 * connection, which can be replaced. A new connection first gets the frames that its client has missed, in slices;
 * meanwhile new frames are only kept, and the session is under backpressure.
 */
export class OutgoingFrames {
  readonly #replay: ReplayBuffer;
  readonly #onReplayFailed: (error: unknown) => void;
  #writer: FrameWriter | undefined;
  #subprotocol: Subprotocol = 'turngraph.v1.json';
  #seq = 0;
  /** The number of the last frame written to the present connection. */
  #written = 0;
  /** The number of the last frame written to any connection. */
  #lastSent = 0;
  #replaying: Promise<void> | undefined;

  /** @param maxReplayBytes kept for a client that resumes. @param onReplayFailed is called if a frame is lost. */
  constructor(maxReplayBytes: number, onReplayFailed: (error: unknown) => void) {
    this.#replay = new ReplayBuffer(maxReplayBytes);
    this.#onReplayFailed = onReplayFailed;
  }

  get lastSeq(): number {
    return this.#seq;
  }

  /** The number of the last frame that was written to a connection. */
  get lastSent(): number {
    return this.#lastSent;
  }

  /** Bytes of the frames that are kept. */
  get replayBytes(): number {
    return this.#replay.bytes;
  }

  /** Whether all frames after the one with this number are kept. */
  holdsAfter(seq: number): boolean {
    return this.#replay.firstSeq <= seq + 1;
  }

  /** Sends the next frame, or keeps it for the next connection. */
  emit<K extends keyof ServerFrameBodies>(requestId: number, body: K, fields: ServerFrameBodies[K]): void {
    const data = serverCodecs[this.#subprotocol].encode(serverFrame(requestId, this.#seq + 1, body, fields));
    const bytes = this.#replay.add(data, this.#subprotocol);
    this.#seq++;
    if (this.#writer && this.#written === this.#seq - 1) this.#write(this.#writer, bytes);
    this.#replay.trim(this.#writer ? this.#written : this.#seq);
  }

  /** Undefined while more may be sent; else a promise to wait for. A session without a connection does not wait. */
  backpressure(): Promise<void> | undefined {
    return this.#replaying ?? this.#writer?.drained();
  }

  /** Writes to a connection from now on, beginning with the frame after `lastSeq`. */
  attach(writer: FrameWriter, lastSeq: number): void {
    this.#writer = writer;
    this.#subprotocol = writer.subprotocol;
    this.#written = lastSeq;
    this.#writeSlice(writer);
    if (this.#written === this.#seq) return;
    const replaying = this.#writeRest(writer)
      .catch(this.#onReplayFailed)
      .finally(() => {
        if (this.#replaying === replaying) this.#replaying = undefined;
      });
    this.#replaying = replaying;
  }

  /** The connection is closed, or closes: frames are only kept from now on. */
  detach(): void {
    this.#writer = undefined;
    this.#replaying = undefined;
    this.#replay.trim(this.#seq);
  }

  async #writeRest(writer: FrameWriter): Promise<void> {
    for (;;) {
      await (writer.drained() ?? nextRound());
      if (this.#writer !== writer) return;
      if (!writer.drained()) this.#writeSlice(writer);
      if (this.#written === this.#seq) return;
    }
  }

  #writeSlice(writer: FrameWriter): void {
    let bytes = 0;
    for (let frames = 0; frames < sliceFrames && bytes < sliceBytes && this.#written < this.#seq; frames++) {
      const kept = this.#replay.get(this.#written + 1);
      if (!kept) throw new RangeError(`frame ${this.#written + 1} is not kept`);
      bytes += kept.bytes.length;
      this.#write(writer, encodedAs(writer.subprotocol, kept));
    }
    this.#replay.trim(this.#written);
  }

  #write(writer: FrameWriter, bytes: Uint8Array): void {
    this.#written++;
    this.#lastSent = Math.max(this.#lastSent, this.#written);
    writer.write(bytes);
  }
}

/** Encodes a frame that is not kept, as bytes also for JSON. */
export function encodeFrame(subprotocol: Subprotocol, frame: ServerFrame): Uint8Array {
  const data = serverCodecs[subprotocol].encode(frame);
  return typeof data === 'string' ? Buffer.from(data) : data;
}

// The client may resume with another codec than before.
function encodedAs(subprotocol: Subprotocol, kept: KeptFrame): Uint8Array {
  if (kept.subprotocol === subprotocol) return kept.bytes;
  const decoded = clientCodecs[kept.subprotocol].decode(kept.bytes);
  if (!decoded.ok) throw decoded.fault;
  return encodeFrame(subprotocol, decoded.frame);
}

interface KeptFrame {
  /** The codec that has encoded it. */
  readonly subprotocol: Subprotocol;
  readonly bytes: Buffer;
}

/** Memory block of several frames: a small buffer for each of them would take a multiple of its bytes. */
interface Block {
  readonly subprotocol: Subprotocol;
  readonly firstSeq: number;
  readonly bytes: Buffer;
  /** Where each of its frames ends. */
  readonly ends: number[];
}

const minBlockBytes = 4 * 1024;
const maxBlockBytes = 64 * 1024;

/**
 * Replay buffer of one session: keeps the last frames, encoded, within a limit of bytes. Frames are numbered from 1
 * in the order of adding. A block of memory is never written twice, so a frame stays valid after it was dropped.
 */
export class ReplayBuffer {
  readonly #maxBytes: number;
  readonly #blocks: Block[] = [];
  #lastSeq = 0;
  #firstSeq = 1;
  #bytes = 0;

  /** @param maxBytes limit of the encoded frames; 0 = nothing is kept. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes of the frames that are kept. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The number of the oldest frame that is kept, or of the next frame when none is. */
  get firstSeq(): number {
    return this.#firstSeq;
  }

  /** Keeps the next frame. Returns its bytes. */
  add(data: string | Uint8Array, subprotocol: Subprotocol): Buffer {
    const length = typeof data === 'string' ? Buffer.byteLength(data) : data.length;
    const block = this.#blockFor(length, subprotocol);
    const start = endOf(block);
    if (typeof data === 'string') block.bytes.write(data, start);
    else block.bytes.set(data, start);
    block.ends.push(start + length);
    this.#lastSeq++;
    this.#bytes += length;
    return block.bytes.subarray(start, start + length);
  }

  /** Drops the oldest frames above the limit, but none after the one with the number `keepAfter`. */
  trim(keepAfter: number): void {
    while (this.#bytes > this.#maxBytes && this.#firstSeq <= keepAfter) this.#dropFirst();
  }

  /** The frame with this number; undefined when it is not kept. */
  get(seq: number): KeptFrame | undefined {
    if (seq < this.#firstSeq || seq > this.#lastSeq) return undefined;
    const block = this.#blocks.findLast(({ firstSeq }) => firstSeq <= seq);
    if (!block) return undefined;
    const index = seq - block.firstSeq;
    const bytes = block.bytes.subarray(index === 0 ? 0 : block.ends[index - 1], block.ends[index]);
    return { subprotocol: block.subprotocol, bytes };
  }

  #dropFirst(): void {
    this.#bytes -= this.get(this.#firstSeq)?.bytes.length ?? 0;
    this.#firstSeq++;
    // The last block is kept, because the next frames are written to it.
    while ((this.#blocks[1]?.firstSeq ?? Infinity) <= this.#firstSeq) this.#blocks.shift();
  }

  #blockFor(length: number, subprotocol: Subprotocol): Block {
    const last = this.#blocks.at(-1);
    if (last?.subprotocol === subprotocol && last.bytes.length - endOf(last) >= length) return last;
    const size = Math.min(maxBlockBytes, Math.max(minBlockBytes, 2 * (last?.bytes.length ?? 0)));
    // A large frame gets a block of its own size, so that little of a block stays unused.
    const bytes = Buffer.allocUnsafeSlow(4 * length > size ? length : size);
    const block: Block = { subprotocol, firstSeq: this.#lastSeq + 1, bytes, ends: [] };
    this.#blocks.push(block);
    return block;
  }
}

const endOf = ({ ends }: Block): number => ends.at(-1) ?? 0;
