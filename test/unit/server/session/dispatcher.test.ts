import { describe, expect, it } from 'vitest';
import type { ClientFrameBodies } from '../../../../src/protocol/frames.gen.ts';
import { findResumeFrame, RequestCounter, type ReceivedRequest } from '../../../../src/server/session/dispatcher.ts';
import { clientCodecs, serverCodecs } from '../../../../src/protocol/codec/codec.ts';
import { clientFrame } from '../../../../src/protocol/codec/frame.ts';

const json = 'turngraph.v1.json';

const received = (text: string): ReceivedRequest => ({
  bytes: text.length,
  decode: () => serverCodecs[json].decode(text),
});
const request = (body: keyof ClientFrameBodies, fields: object = {}): ReceivedRequest =>
  received(clientCodecs[json].encode(clientFrame(1, body, fields)) as string);

describe('the counter of received requests', () => {
  it('counts every request but resumeSession, decoded or not', () => {
    const counter = new RequestCounter();
    const requests = [request('listModels'), request('resumeSession'), received('no JSON'), request('resumeSession')];
    requests.forEach((each) => counter.add(each));
    expect(counter.count).toBe(2);
    requests.slice(0, 2).forEach((each) => counter.decoded(each, each.decode()));
    expect(counter.count).toBe(2);
    requests.slice(2).forEach((each) => counter.decoded(each, each.decode()));
    expect(counter.count).toBe(2);
  });

  it('counts a resumeSession of more than 16 KiB as a request, because it is refused as one', () => {
    const counter = new RequestCounter();
    const large = request('resumeSession', { sessionId: 'x'.repeat(20_000) });
    expect(findResumeFrame(large)).toBeUndefined();
    counter.add(large);
    expect(counter.count).toBe(1);
    counter.decoded(large, large.decode());
    expect(counter.count).toBe(1);
  });
});
