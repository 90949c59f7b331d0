import { Fault } from '../protocol/fault.ts';

export interface OutgoingFrame {
  /** Ids grow in the order of sending. */
  readonly requestId: number;
  readonly data: string | Uint8Array<ArrayBuffer>;
  /** Size of `data` on the wire. */
  readonly bytes: number;
}

export interface OutboxLimits {
  /** Max bytes of sent frames that are kept to be sent again; 0 = none is kept. */
  readonly keptBytes: number;
  /** Max bytes of frames that wait to be sent. */
  readonly queuedBytes: number;
  /** Max number of frames that wait to be sent. */
  readonly queuedFrames: number;
}

/** 16 MiB: so much a server reads before it has answered. It closes at more than 1,024 unanswered requests. */
export const defaultOutboxLimits: OutboxLimits = {
  keptBytes: 16 * 1024 * 1024,
  queuedBytes: 16 * 1024 * 1024,
  queuedFrames: 1000,
};

/**
 * The frames of a session that may still have to be sent: those that wait while there is no connection, and those that
 * were sent and for which nothing proves that the server has received them. The server numbers the frames that it
 * receives from 1, so the frames of a session are counted here, too.
 */
export class Outbox {
  readonly #limits: OutboxLimits;
  /** Sent frames first, then those that wait. */
  #frames: OutgoingFrame[] = [];
  /** How many of `#frames` have been sent. */
  #sent = 0;
  /** How many frames of the session came before `#frames`. */
  #forgotten = 0;
  #sentBytes = 0;
  #queuedBytes = 0;

  constructor(limits: OutboxLimits = defaultOutboxLimits) {
    this.#limits = limits;
  }

  /** Bytes of all frames that are held. */
  get bytes(): number {
    return this.#sentBytes + this.#queuedBytes;
  }

  /** Queues a frame. @throws Fault LIMIT_EXCEEDED when too much waits already. */
  add(frame: OutgoingFrame): void {
    const { queuedBytes, queuedFrames } = this.#limits;
    const isFull = this.#queuedBytes + frame.bytes > queuedBytes || this.#frames.length - this.#sent + 1 > queuedFrames;
    if (isFull) {
      throw new Fault(
        'LIMIT_EXCEEDED',
        `there is no connection, and not more than ${queuedFrames} requests or ${queuedBytes} bytes wait for it; wait until it is resumed`,
      );
    }
    this.#frames.push(frame);
    this.#queuedBytes += frame.bytes;
  }

  /** Removes a frame that has not been sent; does nothing when it has. */
  withdraw(requestId: number): void {
    const index = this.#frames.findLastIndex((frame) => frame.requestId === requestId);
    const frame = this.#frames[index];
    if (!frame || index < this.#sent) return;
    this.#frames.splice(index, 1);
    this.#queuedBytes -= frame.bytes;
  }

  /** The frames that wait, which count as sent from now on. */
  takeQueued(): readonly OutgoingFrame[] {
    const taken = this.#frames.slice(this.#sent);
    this.#sent = this.#frames.length;
    this.#sentBytes += this.#queuedBytes;
    this.#queuedBytes = 0;
    let excess = 0;
    for (let bytes = this.#sentBytes; bytes > this.#limits.keptBytes; excess++) bytes -= this.#bytesAt(excess);
    this.#forget(excess);
    return taken;
  }

  /** An answer has come: the server has received this frame and all before it. */
  acknowledge(requestId: number): void {
    let received = 0;
    while (received < this.#sent && (this.#frames[received]?.requestId ?? Infinity) <= requestId) received++;
    this.#forget(received);
  }

  /** Queues again what follows `received` frames. @returns how many; undefined: gone, or fewer were sent. */
  rewind(received: number): number | undefined {
    const count = received - this.#forgotten;
    if (count < 0 || count > this.#sent) return undefined;
    this.#forget(count);
    const again = this.#sent;
    this.#sent = 0;
    this.#queuedBytes += this.#sentBytes;
    this.#sentBytes = 0;
    return again;
  }

  #forget(count: number): void {
    if (count === 0) return;
    for (let index = 0; index < count; index++) this.#sentBytes -= this.#bytesAt(index);
    this.#frames = this.#frames.slice(count);
    this.#sent -= count;
    this.#forgotten += count;
  }

  #bytesAt(index: number): number {
    return this.#frames[index]?.bytes ?? 0;
  }
}
