// A session of the load: one connection, one agent, one turn after the other. It decodes only what it must, because it shares
// the cores with the server.
import { WebSocket } from 'ws';
import { clientCodecs } from '../../dist/protocol/codec/codec.js';
import { clientFrame } from '../../dist/protocol/codec/frame.js';

const graph = { start_node: 'answer', nodes: { answer: { type: 'Generate', params: { system_prompt: 'Be brief.' } } } };

/** Turns until the dialog is cleared: a dialog that only grows would be measured, and not a turn. */
const turnsPerDialog = 10;

export class LoadSession {
  /** What was not as it should be: one sentence each. */
  failures = [];
  #socket;
  #codec;
  #lastId = 0;
  #agentId = 0;
  #turns = 0;
  /** By request id. */
  #waiting = new Map();

  constructor(socket, codec) {
    this.#socket = socket;
    this.#codec = codec;
    socket.on('message', (data, isBinary) => this.#receive(isBinary ? data : data.toString()));
    socket.on('close', (code) => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`the connection was closed with ${code}`));
    });
  }

  /** Connects, and creates the agent. */
  static async open(url, { codec: codecName, http }) {
    const codec = clientCodecs[`turngraph.v1.${codecName}`];
    const socket = new WebSocket(url, codec.subprotocol, { perMessageDeflate: false });
    await new Promise((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('error', reject);
    });
    const session = new LoadSession(socket, codec);
    await session.#request('configureSession', { engine: http ? 'llama-cpp' : 'mock' });
    const { createAgent } = await session.#request('createAgent', {
      graphJson: JSON.stringify(http ? { ...graph, default_model_name: 'load' } : graph),
    });
    session.#agentId = createAgent.agentId;
    return session;
  }

  /** One turn. Returns its milliseconds. */
  async turn(text) {
    const agentId = this.#agentId;
    if (this.#turns++ % turnsPerDialog === turnsPerDialog - 1) await this.#request('clearDialog', { agentId });
    const began = performance.now();
    const { turnComplete } = await this.#request('sendMessage', { agentId, text });
    if (turnComplete?.status !== 'SUCCESS') this.failures.push(`a turn ended with ${turnComplete?.status}`);
    return performance.now() - began;
  }

  /** Closes the connection. */
  close() {
    return new Promise((resolve) => {
      this.#socket.once('close', resolve);
      this.#socket.close();
    });
  }

  #request(body, fields) {
    const requestId = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(requestId, { resolve, reject });
      this.#socket.send(this.#codec.encode(clientFrame(requestId, body, fields)));
    });
  }

  #receive(data) {
    const decoded = this.#codec.decode(data);
    if (!decoded.ok) throw decoded.fault;
    const { frame } = decoded;
    if (frame.body === 'answerText' || frame.body === 'modelProgress') return;
    const request = this.#waiting.get(frame.requestId);
    if (!request) return;
    this.#waiting.delete(frame.requestId);
    if (frame.body === 'error') request.reject(new Error(frame.error.message));
    else request.resolve(frame);
  }
}
