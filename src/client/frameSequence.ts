import { Fault } from '../protocol/fault.ts';

/** Checks the sequence numbers of a session's frames, which count from 1 without gaps. */
export class FrameSequence {
  #last = 0;
  // Frames of types that this client does not know: their numbers cannot be read.
  #unknown = 0;

  /** The number of the last frame received. */
  get last(): number {
    return this.#last;
  }

  /** A frame of an unknown type has been received. */
  skipUnknown(): void {
    this.#unknown++;
  }

  /** The frames after the last one come again, on another connection. */
  restart(): void {
    this.#unknown = 0;
  }

  /**
   * Whether a frame with this number is new; 0 is the number of frames that are never sent again.
   * @throws Fault MALFORMED_MESSAGE when frames before it are missing.
   */
  accept(seq: number): boolean {
    if (seq === 0) return true;
    if (seq <= this.#last) return false;
    if (seq > this.#last + 1 + this.#unknown) {
      throw new Fault(
        'MALFORMED_MESSAGE',
        `the server sent the frame with seq ${seq} after ${this.#last}, so frames are missing; connect again`,
      );
    }
    this.#unknown = 0;
    this.#last = seq;
    return true;
  }
}
