// A client of the fuzzer: sends frames as they are, and keeps only what it counts.
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { clientCodecs } from '../../../dist/protocol/codec/codec.js';
import { maxFrameBytes } from '../../../dist/protocol/frameSize.js';
import { clientFrame } from '../../../dist/protocol/codec/frame.js';

const partialAnswers = new Set(['answerText', 'answerField', 'toolCallNotification', 'nodeEvent', 'modelProgress']);

/** One connection. */
export class FrameClient {
  tally = { requests: 0, errors: 0, turns: 0 };
  #socket;
  #codec;
  #pending = new Map();
  #requestId = 0;
  #last = [];

  constructor(socket, codec) {
    this.#socket = socket;
    this.#codec = codec;
    socket.on('close', (code) => {
      for (const { reject } of this.#pending.values()) reject(new Error(`the connection was closed with ${code}`));
    });
    socket.on('message', (data, isBinary) => this.#receive(codec.decode(isBinary ? data : data.toString())));
  }

  /** Opens a connection with a subprotocol. */
  static async connect(url, subprotocol) {
    const socket = new WebSocket(url, [subprotocol], { perMessageDeflate: false });
    const client = new FrameClient(socket, clientCodecs[subprotocol]);
    await once(socket, 'open');
    return client;
  }

  /**
   * Sends a request; resolves with its final answer, which may be an error. One that is too large for a frame is not sent:
   * the server would close the connection.
   */
  request(body, fields) {
    const requestId = ++this.#requestId;
    const data = this.#codec.encode(clientFrame(requestId, body, fields));
    if (Buffer.byteLength(data) > maxFrameBytes) return Promise.resolve({ body: 'tooLarge' });
    this.#last.push(`${body} (${data.length} bytes) ${JSON.stringify(fields).slice(0, 160)}`);
    const answer = new Promise((resolve, reject) => this.#pending.set(requestId, { resolve, reject }));
    this.#socket.send(data);
    return answer;
  }

  /** The requests so far, shortened. */
  describe() {
    return this.#last.slice(1).join(' | ');
  }

  #receive(decoded) {
    if (!decoded.ok) throw decoded.fault;
    const { frame } = decoded;
    const pending = this.#pending.get(frame.requestId);
    if (!pending || partialAnswers.has(frame.body)) return;
    if (frame.body === 'exportDialog' && frame.exportDialog.part < frame.exportDialog.of) return;
    this.#pending.delete(frame.requestId);
    this.tally.requests++;
    if (frame.body === 'error') this.tally.errors++;
    if (frame.body === 'turnComplete') this.tally.turns++;
    pending.resolve(frame);
  }

  close() {
    this.#socket.terminate();
  }
}
