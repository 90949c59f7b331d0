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
  /** Frames that were sent, and may not have been received. */
  #sent: OutgoingFrame[] = [];
  /** Frames that wait to be sent. */
  #queued: OutgoingFrame[] = [];
  /** How many frames of the session came before `#sent`. */
  #forgotten = 0;

  constructor(limits: OutboxLimits = defaultOutboxLimits) {
    this.#limits = limits;
  }

  /** Bytes of all frames that are held. */
  get bytes(): number {
    return totalBytes(this.#sent) + totalBytes(this.#queued);
  }

  /** Queues a frame. @throws Fault LIMIT_EXCEEDED when too much waits already. */
  add(frame: OutgoingFrame): void {
    const { queuedBytes, queuedFrames } = this.#limits;
    if (totalBytes(this.#queued) + frame.bytes > queuedBytes || this.#queued.length >= queuedFrames) {
      throw new Fault(
        'LIMIT_EXCEEDED',
        `there is no connection, and not more than ${queuedFrames} requests or ${queuedBytes} bytes wait for it; wait until it is resumed`,
      );
    }
    this.#queued.push(frame);
  }

  /** Removes a frame that has not been sent; does nothing when it has. */
  withdraw(requestId: number): void {
    this.#queued = this.#queued.filter((frame) => frame.requestId !== requestId);
  }

  /** The frames that wait, which count as sent from now on. */
  takeQueued(): readonly OutgoingFrame[] {
    const taken = this.#queued;
    this.#queued = [];
    this.#sent.push(...taken);
    let excess = 0;
    for (let bytes = totalBytes(this.#sent); bytes > this.#limits.keptBytes; excess++)
      bytes -= this.#sent[excess]?.bytes ?? 0;
    this.#forget(excess);
    return taken;
  }

  /** An answer has come: the server has received this frame and all before it. */
  acknowledge(requestId: number): void {
    const next = this.#sent.findIndex((frame) => frame.requestId > requestId);
    this.#forget(next < 0 ? this.#sent.length : next);
  }

  /** Queues again what follows `received` frames. @returns how many; undefined: gone, or fewer were sent. */
  rewind(received: number): number | undefined {
    const count = received - this.#forgotten;
    if (count < 0 || count > this.#sent.length) return undefined;
    this.#forget(count);
    const again = this.#sent;
    this.#sent = [];
    this.#queued = [...again, ...this.#queued];
    return again.length;
  }

  #forget(count: number): void {
    this.#sent.splice(0, count);
    this.#forgotten += count;
  }
}

const totalBytes = (frames: readonly OutgoingFrame[]): number => frames.reduce((total, { bytes }) => total + bytes, 0);
