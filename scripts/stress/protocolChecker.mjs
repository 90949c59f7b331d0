// The promises of the protocol about order, checked frame by frame.

/** What one session sent and heard. */
export class Ledger {
  faults = [];
  #open = new Map();
  #seq = 0;
  #greeted = false;
  #finalAnswer;

  /** @param finalAnswer the client's own knowledge of which frame answers which request. */
  constructor(finalAnswer) {
    this.#finalAnswer = finalAnswer;
  }

  fault(sentence) {
    this.faults.push(sentence);
  }

  /** Takes a frame that goes to the server. */
  sent({ requestId, body, ...rest }) {
    const { agentId } = rest[body] ?? {};
    this.#open.set(requestId, { name: body, agentId, turnId: 0, spoken: false, calls: 0, part: 0 });
  }

  /** Takes a frame that comes from the server. */
  heard(frame) {
    const { requestId, seq, body } = frame;
    if (!this.#greeted) {
      this.#greeted = true;
      if (body !== 'sessionReady' || seq !== 0) this.fault(`the first frame is ${body} with seq ${seq}`);
      return;
    }
    if (requestId === 0) return this.fault(`nobody asked for ${body} ${frame.error?.message ?? ''}`);
    this.#seq++;
    if (seq !== this.#seq) {
      this.fault(`seq ${seq} where ${this.#seq} was due`);
      this.#seq = seq;
    }
    const request = this.#open.get(requestId);
    if (!request)
      return this.fault(`${body} for request ${requestId}, which has had its final answer or was never sent`);
    if (request.name === 'sendMessage') this.#turn(request, frame);
    if (body === 'error' || this.#finalAnswer(request.name, frame)) this.#open.delete(requestId);
  }

  /** To be called when everything that was asked was waited for. */
  settle() {
    for (const [id, { name }] of this.#open) this.fault(`request ${id} (${name}) has had no final answer`);
  }

  #turn(request, frame) {
    if (frame.body === 'error') return;
    const told = frame[frame.body];
    if (told.agentId !== request.agentId)
      this.fault(`agent ${told.agentId} speaks in a turn of agent ${request.agentId}`);
    request.turnId ||= told.turnId;
    if (told.turnId !== request.turnId) this.fault(`turn ${told.turnId} within turn ${request.turnId}`);
    const complete = frame.body === 'turnComplete';
    if (request.spoken && !complete) this.fault(`${frame.body} after the last text of a turn`);
    if (complete && !request.spoken) this.fault('turnComplete without a last text');
    if (complete && told.status === 'ERROR') this.fault(`a turn failed: ${told.error?.name} ${told.error?.message}`);
    if (frame.body === 'answerText' && told.isFinal) {
      request.spoken = true;
      if (told.text !== '') this.fault('the last text of a turn is not empty');
    }
    if (frame.body === 'toolCallNotification' && told.callIndex !== request.calls++)
      this.fault(`call ${told.callIndex} where ${request.calls - 1} was due`);
  }
}
