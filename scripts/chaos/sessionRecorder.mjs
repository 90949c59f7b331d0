// Records the frames of one session on all of its connections, and checks them: order, sequence numbers, what is sent again.
/** @import { ClientFrame, ServerFrame } from '../../src/protocol/frames.gen.ts' */
import { WebSocket } from 'ws';
import { finalResponse } from '../../dist/client/responses.js';
import { clientCodecs, serverCodecs } from '../../dist/protocol/codec/codec.js';
import { ProtocolChecker } from '../stress/protocolChecker.mjs';

/** The recorder of a session; `faults` has one sentence for each violation. */
export class SessionRecorder {
  figures = { connections: 0, resumed: 0, frames: 0, replayed: 0, sentAgain: 0 };
  /** Number of resumes whose replay did not include the end of a turn. */
  resumedBeforeTheEnd = 0;
  /** Called when a connection has taken over the session. */
  onResumed = () => {};
  #checker = new ProtocolChecker(finalResponse);
  /** What was sent, by request id. @type {Map<number, { readonly number: number, readonly data: Buffer }>} */
  #sent = new Map();
  #lastSeq = 0;
  #requestsReceived = 0;
  #replaysDue = 0;

  get faults() {
    return this.#checker.violations;
  }

  /** Reports requests without a final answer. */
  expectAllAnswered() {
    this.#checker.expectAllAnswered();
  }

  /**
   * Begins a connection.
   * @param {string} subprotocol
   * @returns functions that take the data of each message
   */
  connection(subprotocol) {
    const isFirst = this.figures.connections++ === 0;
    const decodeWith = (codecs, data, isBinary) => {
      const decoded = codecs[subprotocol].decode(isBinary ? new Uint8Array(data) : Buffer.from(data).toString());
      if (!decoded.ok) this.#checker.fail(`a frame that cannot be read: ${decoded.fault.message}`);
      return decoded.ok ? decoded.frame : undefined;
    };
    const isBinary = subprotocol.endsWith('proto');
    return {
      sent: (data) => {
        const frame = decodeWith(serverCodecs, data, isBinary);
        if (frame) this.#frameSent(frame, Buffer.from(data));
      },
      received: (data) => {
        const frame = decodeWith(clientCodecs, data, isBinary);
        if (frame) this.#frameReceived(frame, isFirst);
      },
    };
  }

  /** The WebSocket class of a client of this session. */
  webSocketClass() {
    const open = (subprotocol) => this.connection(subprotocol);
    return class extends WebSocket {
      #frames;

      constructor(url, subprotocol) {
        super(url, subprotocol, { perMessageDeflate: false });
        this.once('open', () => (this.#frames = open(this.protocol)));
        this.on('message', (data) => this.#frames.received(data));
      }

      send(data, ...more) {
        this.#frames.sent(data);
        super.send(data, ...more);
      }
    };
  }

  #frameSent(/** @type {ClientFrame} */ frame, data) {
    if (frame.body === 'resumeSession') {
      const { lastSeq } = frame.resumeSession;
      if (lastSeq !== this.#lastSeq) this.#checker.fail(`resumes after ${lastSeq}, but has read ${this.#lastSeq}`);
      return;
    }
    const before = this.#sent.get(frame.requestId);
    if (!before) {
      this.#sent.set(frame.requestId, { number: this.#sent.size + 1, data });
      return this.#checker.requestSent(frame);
    }
    this.figures.sentAgain++;
    const what = `request ${frame.requestId} (${frame.body})`;
    if (before.number <= this.#requestsReceived) this.#checker.fail(`${what} was sent again, but had been received`);
    if (!before.data.equals(data)) this.#checker.fail(`${what} was sent again with other bytes`);
  }

  #frameReceived(/** @type {ServerFrame} */ frame, isFirst) {
    if (frame.body === 'sessionReady' && !isFirst) return;
    if (frame.body === 'resumeSession') {
      this.figures.resumed++;
      this.figures.replayed += frame.resumeSession.replayed;
      this.#requestsReceived = frame.resumeSession.requestsReceived;
      this.#replaysDue = frame.resumeSession.replayed;
      if (this.#replaysDue === 0) this.resumedBeforeTheEnd++;
      return this.onResumed();
    }
    this.figures.frames++;
    if (this.#replaysDue > 0 && --this.#replaysDue === 0 && frame.body !== 'turnComplete') this.resumedBeforeTheEnd++;
    this.#lastSeq = Math.max(this.#lastSeq, frame.seq);
    this.#checker.frameReceived(frame);
  }
}
