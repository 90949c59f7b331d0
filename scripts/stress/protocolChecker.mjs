// Protocol checker: checks the order of the frames of one session, as PROTOCOL.md promises it.
/** @import { ClientFrame, ServerFrame } from '../../src/protocol/frames.gen.ts' */

/** Collects the violations of one session; see `violations`. */
export class ProtocolChecker {
  /** @type {string[]} */
  violations = [];
  #open = new Map();
  #seq = 0;
  #isReady = false;
  #finalAnswer;

  /** @param {typeof import('../../src/client/responses.ts').finalResponse} finalAnswer Finds the final answer of a request. */
  constructor(finalAnswer) {
    this.#finalAnswer = finalAnswer;
  }

  /** @param {string} sentence */
  fail(sentence) {
    this.violations.push(sentence);
  }

  /** @param {ClientFrame} frame A frame that was sent to the server. */
  requestSent({ requestId, body, ...rest }) {
    const { agentId } = rest[body] ?? {};
    this.#open.set(requestId, { name: body, agentId, turnId: 0, textEnded: false, calls: 0, part: 0 });
  }

  /** @param {ServerFrame} frame A frame that came from the server. */
  frameReceived(frame) {
    const { requestId, seq, body } = frame;
    if (!this.#isReady) {
      this.#isReady = true;
      if (body !== 'sessionReady' || seq !== 0) this.fail(`the first frame is ${body} with seq ${seq}`);
      return;
    }
    if (requestId === 0) return this.fail(`unsolicited ${body} ${frame.error?.message ?? ''}`);
    this.#seq++;
    if (seq !== this.#seq) {
      this.fail(`seq ${seq} where ${this.#seq} was due`);
      this.#seq = seq;
    }
    const request = this.#open.get(requestId);
    if (!request)
      return this.fail(`${body} for request ${requestId}, which has had its final answer or was never sent`);
    if (request.name === 'sendMessage') this.#checkTurn(request, frame);
    if (body === 'error' || this.#finalAnswer(request.name, frame)) this.#open.delete(requestId);
  }

  /** Reports requests without a final answer; to be called when all of them have been awaited. */
  expectAllAnswered() {
    for (const [id, { name }] of this.#open) this.fail(`request ${id} (${name}) has had no final answer`);
  }

  #checkTurn(request, frame) {
    if (frame.body === 'error') return;
    const message = frame[frame.body];
    if (message.agentId !== request.agentId)
      this.fail(`agent ${message.agentId} speaks in a turn of agent ${request.agentId}`);
    request.turnId ||= message.turnId;
    if (message.turnId !== request.turnId) this.fail(`turn ${message.turnId} within turn ${request.turnId}`);
    const complete = frame.body === 'turnComplete';
    if (request.textEnded && !complete) this.fail(`${frame.body} after the last text of a turn`);
    if (complete && !request.textEnded) this.fail('turnComplete without a last text');
    if (complete && message.status === 'ERROR')
      this.fail(`a turn failed: ${message.error?.name} ${message.error?.message}`);
    if (frame.body === 'answerText' && message.isFinal) {
      request.textEnded = true;
      if (message.text !== '') this.fail('the last text of a turn is not empty');
    }
    if (frame.body === 'toolCallNotification' && message.callIndex !== request.calls++)
      this.fail(`call ${message.callIndex} where ${request.calls - 1} was due`);
  }
}
