import { describe, expect, it } from 'vitest';
import type { ClientFrameBodies } from '../../../../src/protocol/frames.gen.ts';
import { findResumeFrame, type ReceivedRequest, RequestDispatcher } from '../../../../src/server/session/dispatcher.ts';
import { RequestQueue, RequestQueues } from '../../../../src/server/session/requestQueue.ts';
import type { Session } from '../../../../src/server/session/session.ts';
import { clientCodecs, serverCodecs } from '../../../../src/protocol/codec/codec.ts';
import { clientFrame } from '../../../../src/protocol/codec/frame.ts';

const json = 'turngraph.v1.json';

const received = (text: string): ReceivedRequest => ({
  bytes: text.length,
  decode: () => serverCodecs[json].decode(text),
});
const request = (body: keyof ClientFrameBodies, fields: object = {}): ReceivedRequest =>
  received(clientCodecs[json].encode(clientFrame(1, body, fields)) as string);

/** A dispatcher of a session that answers every request with an error. */
function createDispatcher(): RequestDispatcher {
  const limits = { maxRequests: 10 };
  const context = { limits, metrics: { add() {} }, closing: new AbortController().signal, log: { error() {} } };
  const session = { context, backpressure: () => undefined, creation: () => undefined } as unknown as Session;
  const sink = { emit() {}, requestFailed() {}, closeWithError() {}, fail() {} };
  const reader = { pause() {}, resume() {} };
  const queues = new RequestQueues({ connectionBytes: 1e6, totalBytes: 1e6 });
  return new RequestDispatcher(session, sink, new RequestQueue(queues, reader));
}

describe('the number of received requests', () => {
  it('is that of every request but resumeSession, decoded or not', async () => {
    const dispatcher = createDispatcher();
    const requests = [request('listModels'), request('resumeSession'), received('no JSON'), request('resumeSession')];
    requests.forEach((each) => dispatcher.receive(each));
    expect(dispatcher.requestsReceived).toBe(2);
    await dispatcher.idle();
    expect(dispatcher.requestsReceived).toBe(2);
    dispatcher.receive(request('resumeSession'));
    dispatcher.receive(request('listModels'));
    expect(dispatcher.requestsReceived).toBe(3);
    await dispatcher.idle();
    expect(dispatcher.requestsReceived).toBe(3);
  });

  it('has a resumeSession of more than 16 KiB, because it is refused as a request', async () => {
    const dispatcher = createDispatcher();
    const large = request('resumeSession', { sessionId: 'x'.repeat(20_000) });
    expect(findResumeFrame(large)).toBeUndefined();
    dispatcher.receive(large);
    expect(dispatcher.requestsReceived).toBe(1);
    await dispatcher.idle();
    expect(dispatcher.requestsReceived).toBe(1);
  });
});
