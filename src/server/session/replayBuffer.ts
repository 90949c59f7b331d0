import type { Subprotocol } from '../../protocol/codec/codec.ts';

/** An encoded frame that is kept. */
export interface KeptFrame {
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
    for (
      let [first, next] = this.#blocks;
      first && next && next.firstSeq <= this.#firstSeq;
      [first, next] = this.#blocks
    )
      this.#blocks.shift();
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
