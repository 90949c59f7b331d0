// Records the frames of one session on all of its connections, and checks them: by the rules of the conformance kit, and what
// is sent again.
/** @import { ClientFrame, ServerFrame } from '../../src/protocol/frames.gen.ts' */
import { WebSocket } from 'ws';
import { SessionTrace } from '../../dist/conformance/index.js';
import { clientCodecs, serverCodecs } from '../../dist/protocol/codec/codec.js';

/** The recorder of a session. */
export class SessionRecorder {
  figures = { connections: 0, resumed: 0, frames: 0, replayed: 0, sentAgain: 0 };
  /** Number of resumes whose replay did not include the end of a turn. */
  resumedBeforeTheEnd = 0;
  /** Called when a connection has taken over the session. */
  onResumed = () => {};
  /** Violations: one sentence each. @type {string[]} */
  faults = [];
  #trace = new SessionTrace({ violate: (_, expected, came) => this.#fail(`expected ${expected}, came ${came}`) });
  /** The number of calls of each turn, by request id. @type {Map<number, number>} */
  #calls = new Map();
  #socket;
  /** What was sent, by request id. @type {Map<number, { readonly number: number, readonly data: Buffer }>} */
  #sent = new Map();
  #lastSeq = 0;
  #requestsReceived = 0;
  #replaysDue = 0;

  #fail(sentence) {
    this.faults.push(sentence);
  }

  /** Reports requests without a final answer; to be called when all of them have been awaited. */
  expectAllAnswered() {
    for (const [id, body] of this.#trace.open()) this.#fail(`request ${id} (${body}) has had no final answer`);
  }

  /** Ends the last connection of `webSocketClass` without a close frame. */
  terminate() {
    this.#socket?.terminate();
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
      if (!decoded.ok) this.#fail(`a frame that cannot be read: ${decoded.fault.message}`);
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
    const open = (socket) => {
      this.#socket = socket;
      return this.connection(socket.protocol);
    };
    return class extends WebSocket {
      #frames;

      constructor(url, subprotocol) {
        super(url, subprotocol, { perMessageDeflate: false, closeTimeout: 2000 });
        this.once('open', () => (this.#frames = open(this)));
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
      if (lastSeq !== this.#lastSeq) this.#fail(`resumes after ${lastSeq}, but has read ${this.#lastSeq}`);
      return;
    }
    const before = this.#sent.get(frame.requestId);
    if (!before) {
      this.#sent.set(frame.requestId, { number: this.#sent.size + 1, data });
      return this.#trace.sent(frame.requestId, frame.body, frame[frame.body].agentId);
    }
    this.figures.sentAgain++;
    const what = `request ${frame.requestId} (${frame.body})`;
    if (before.number <= this.#requestsReceived) this.#fail(`${what} was sent again, but had been received`);
    if (!before.data.equals(data)) this.#fail(`${what} was sent again with other bytes`);
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
    if (this.figures.frames++ === 0 && frame.body !== 'sessionReady') this.#fail(`the first frame is ${frame.body}`);
    if (frame.requestId === 0 && frame.body !== 'sessionReady')
      this.#fail(`unsolicited ${frame.body} ${frame.error?.message ?? ''}`);
    if (this.#replaysDue > 0 && --this.#replaysDue === 0 && frame.body !== 'turnComplete') this.resumedBeforeTheEnd++;
    this.#lastSeq = Math.max(this.#lastSeq, frame.seq);
    this.#trace.received(frame);
    if (frame.body === 'turnComplete' && frame.turnComplete.status === 'ERROR')
      this.#fail(`a turn failed: ${frame.turnComplete.error?.name} ${frame.turnComplete.error?.message}`);
    if (frame.body === 'toolCallNotification') this.#checkCall(frame);
  }

  #checkCall(
    /** @type {Extract<ServerFrame, { body: 'toolCallNotification' }>} */ { requestId, toolCallNotification },
  ) {
    const due = this.#calls.get(requestId) ?? 0;
    this.#calls.set(requestId, due + 1);
    if (toolCallNotification.callIndex !== due)
      this.#fail(`call ${toolCallNotification.callIndex} where ${due} was due`);
  }
}
