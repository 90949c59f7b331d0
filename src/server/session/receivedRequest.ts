import type { ClientFrame } from '../../protocol/frames.gen.ts';
import type { DecodeResult } from '../../protocol/codec/frameReader.ts';

/** A request as received. It waits in this form, because a decoded frame can take many times the memory of its bytes. */
export interface ReceivedRequest {
  readonly bytes: number;
  decode(): DecodeResult<ClientFrame>;
}

/** A frame that asks to resume a session. */
export type ResumeFrame = Extract<ClientFrame, { readonly body: 'resumeSession' }>;

// The first frame of a connection is decoded as soon as it is received, without waiting for its turn: it must be small.
const maxResumeBytes = 16 * 1024;

const resumeFrameIn = (decoded: DecodeResult<ClientFrame>): ResumeFrame | undefined =>
  decoded.ok && decoded.frame.body === 'resumeSession' ? decoded.frame : undefined;

/** The resumeSession that a request is; undefined when it is another request, or has more than 16 KiB. */
export const findResumeFrame = (request: ReceivedRequest): ResumeFrame | undefined =>
  request.bytes > maxResumeBytes ? undefined : resumeFrameIn(request.decode());

/**
 * Counts the requests that a session has received, for a client that resumes it. A resumeSession is not counted: it is
 * no request to the session. Whether a request is one is known only when it is decoded.
 */
export class RequestCounter {
  readonly #undecoded = new Set<ReceivedRequest>();
  #received = 0;

  /** Requests received until now. Decodes those that wait. */
  get count(): number {
    return this.#received - [...this.#undecoded].filter(findResumeFrame).length;
  }

  /** Counts a request. */
  add(request: ReceivedRequest): void {
    this.#received++;
    this.#undecoded.add(request);
  }

  /** A counted request has been decoded. */
  decoded(request: ReceivedRequest, result: DecodeResult<ClientFrame>): void {
    this.#undecoded.delete(request);
    if (request.bytes <= maxResumeBytes && resumeFrameIn(result)) this.#received--;
  }
}
