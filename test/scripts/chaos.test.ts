import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import * as answers from '../../scripts/chaos/answers.mjs';
import * as files from '../../scripts/chaos/files.mjs';
import * as kills from '../../scripts/chaos/kills.mjs';
import { layoutOf, mutate } from '../../scripts/chaos/mutations.mjs';
import * as requests from '../../scripts/chaos/requests.mjs';
import * as serverEnds from '../../scripts/chaos/serverEnds.mjs';
import { SessionRecorder } from '../../scripts/chaos/sessionRecorder.mjs';
import { createRng } from '../../scripts/seededRandom.mjs';
import { clientCodecs, serverCodecs } from '../../src/protocol/codec/codec.ts';
import { clientFrame, serverFrame } from '../../src/protocol/codec/frame.ts';
import { isSkipped } from '../helpers/requirements.mjs';
import { TcpProxy } from '../helpers/tcpProxy.mjs';
import { demoFile } from '../model/demo.ts';

// Short versions of the cases of `npm run chaos`, and tests of what they use.

const log = (): void => undefined;
/** Only the timeout of a test ends it on a slow machine. */
const patience = 100;
const target = { model: 'turngraph-demo', file: demoFile };

describe('the proxy', () => {
  const cleanups: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of cleanups.splice(0).reverse()) await close();
  });

  /** A connection through a proxy; `received` are the bytes that each side has read. */
  async function connectThroughProxy() {
    const accepted: Socket[] = [];
    const server = createServer((socket) => accepted.push(socket.on('error', log)));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    cleanups.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    const proxy = await TcpProxy.start(`ws://127.0.0.1:${port}`, { random: createRng(1) });
    cleanups.push(() => proxy.stop());
    const client = connect(proxy.port, '127.0.0.1').on('error', log);
    await Promise.all([once(client, 'connect'), once(server, 'connection')]);
    const [far] = accepted as [Socket];
    const chunks: Record<'toServer' | 'toClient', Buffer[]> = { toServer: [], toClient: [] };
    far.on('data', (data: Buffer) => chunks.toServer.push(data));
    client.on('data', (data: Buffer) => chunks.toClient.push(data));
    return { proxy, client, far, chunks };
  }

  it('delivers all bytes of both directions, in many pieces', async () => {
    const { proxy, client, far, chunks } = await connectThroughProxy();
    const sent = Buffer.from(Array.from({ length: 20_000 }, (_, index) => index % 251));
    const ends = Promise.all([once(far, 'end'), once(client, 'end')]);
    client.end(sent);
    far.end(sent);
    await ends;
    expect(Buffer.concat(chunks.toServer).equals(sent)).toBe(true);
    expect(Buffer.concat(chunks.toClient).equals(sent)).toBe(true);
    expect(proxy).toMatchObject({ connections: 1, cuts: 0 });
    expect(proxy.pieces).toBeGreaterThan(80);
  });

  it.each(['toServer', 'toClient'] as const)('cuts a connection after some more bytes %s', async (direction) => {
    const { proxy, client, far, chunks } = await connectThroughProxy();
    proxy.cutAfter(direction, 1234);
    const closes = Promise.all([far, client].map((socket) => new Promise((resolve) => socket.on('close', resolve))));
    (direction === 'toServer' ? client : far).write(Buffer.alloc(20_000));
    await closes;
    // A reset may overtake the last of them.
    expect(Buffer.concat(chunks[direction]).length).toBeLessThanOrEqual(1234);
    expect(proxy.cuts).toBe(1);
  });
});

describe('a mutated GGUF file', () => {
  it('differs where its kind says, and is the same for the same seed', async () => {
    const file = await readFile(demoFile);
    const layout = layoutOf(file);
    expect(layout.values.map(({ key }) => key)).toContain('llama.block_count');
    const kinds = new Set<string>();
    for (let seed = 1; seed <= 40; seed++) {
      const { kind, what, content } = mutate(file, layout, createRng(seed));
      const again = mutate(file, layout, createRng(seed));
      expect([again.what, again.content.equals(content)]).toEqual([what, true]);
      kinds.add(kind);
      const same = (start: number, end: number): boolean =>
        content.subarray(start, end).equals(file.subarray(start, Math.min(end, content.length)));
      const unchanged = {
        metadata: same(0, layout.tableAt),
        table: same(layout.tableAt, layout.dataAt),
        data: same(layout.dataAt, file.length),
      };
      const part = kind.startsWith('metadata') ? 'metadata' : kind === 'data' ? 'data' : 'table';
      expect({ ...unchanged, [part]: true }).toEqual({ metadata: true, table: true, data: true });
    }
    expect(kinds.size).toBe(5);
  });
});

describe('the session recorder', () => {
  const { encode } = serverCodecs['turngraph.v1.json'];
  const ready = encode(serverFrame(0, 0, 'sessionReady', { sessionId: 's' }));
  const ack = (requestId: number, seq: number) => encode(serverFrame(requestId, seq, 'ack', {}));
  const request = (requestId: number, modelName = 'a') =>
    clientCodecs['turngraph.v1.json'].encode(clientFrame(requestId, 'unloadModel', { modelName }));
  const resume = (lastSeq: number) =>
    clientCodecs['turngraph.v1.json'].encode(clientFrame(99, 'resumeSession', { lastSeq }));
  const resumed = (requestsReceived: number) =>
    encode(serverFrame(99, 0, 'resumeSession', { replayed: 0, requestsReceived }));

  /** A session that sends two requests, receives the answer to the first, and is resumed. */
  function resumeSession(requestsReceived: number, lastSeq = 1) {
    const recorder = new SessionRecorder();
    const [first, second] = [recorder.connection('turngraph.v1.json'), recorder.connection('turngraph.v1.json')];
    first.received(ready);
    first.sent(request(1));
    first.sent(request(2));
    first.received(ack(1, 1));
    second.received(ready);
    second.sent(resume(lastSeq));
    second.received(resumed(requestsReceived));
    return { recorder, ...second };
  }

  it('accepts a session that is resumed, with and without a request that is sent again', () => {
    const { recorder, sent, received } = resumeSession(1);
    sent(request(2));
    received(ack(2, 2));
    const other = resumeSession(2);
    other.received(ack(2, 2));
    for (const one of [recorder, other.recorder]) {
      one.expectAllAnswered();
      expect(one.faults).toEqual([]);
    }
    expect([recorder.figures.sentAgain, other.recorder.figures.sentAgain]).toEqual([1, 0]);
  });

  it('reports frames that are repeated or left out, and requests that are repeated, changed or lost', () => {
    const repeated = resumeSession(2);
    repeated.received(ack(1, 1));
    const leftOut = resumeSession(2);
    leftOut.received(ack(2, 3));
    const sentTwice = resumeSession(2);
    sentTwice.sent(request(2));
    const changed = resumeSession(1);
    changed.sent(request(2, 'b'));
    const lost = resumeSession(1);
    lost.recorder.expectAllAnswered();
    const all = [repeated, leftOut, sentTwice, changed, lost, resumeSession(2, 0)];
    expect(all.map(({ recorder }) => recorder.faults[0])).toEqual([
      'expected seq 2 on the next frame (ack), came 1',
      'expected seq 2 on the next frame (ack), came 3',
      'request 2 (unloadModel) was sent again, but had been received',
      'request 2 (unloadModel) was sent again with other bytes',
      'request 2 (unloadModel) has had no final answer',
      'resumes after 0, but has read 1',
    ]);
  });
});

describe('a session whose connections are cut', { timeout: 240_000 }, () => {
  // A client that is missing here has a note.
  it('gets the answers of a session without cuts', async () => {
    const { faults, figures } = await answers.run(target, { count: 2, seed: 1, chapters: 2, patience, log });
    expect(faults).toEqual([]);
    expect(Object.values(figures).filter(({ cuts = 0 }) => cuts < 2)).toEqual([]);
  });

  it('has each request take effect exactly once', async () => {
    const { faults, figures } = await requests.run(target, { count: 5, seed: 1, patience, log });
    expect(faults).toEqual([]);
    expect(Object.values(figures).filter(({ cuts = 0 }) => cuts < 5)).toEqual([]);
  });
});

// Processes are found in /proc.
describe.skipIf(isSkipped('engineProcesses'))('the engine processes of a server', { timeout: 240_000 }, () => {
  it('can be killed: turns in flight fail, and all agents, dialogs and other models go on', async () => {
    // Turns of the other moments may have ended before the signal, or begin after it.
    const order = ['answering', 'loading', 'swapping'];
    const size = { count: 3, seed: 1, chapters: 1 };
    const { faults, figures } = await kills.run(target, { ...size, signal: 'SIGKILL', order, patience, log });
    expect(faults).toEqual([]);
    expect(figures).toMatchObject({ kills: 3, moments: { answering: 1, loading: 1, swapping: 1 } });
    expect(figures.failedTurns).toBeGreaterThan(0);
  });

  it('end with the server, however that ends', async () => {
    const { faults, figures } = await serverEnds.run(target, { count: 1, patience, log });
    expect(faults).toEqual([]);
    expect(figures).toMatchObject({ ends: 3, engineProcesses: 6 });
  });
});

describe('a server with mutated models', () => {
  it('refuses them or loads them, and does not end', { timeout: 240_000 }, async () => {
    const { faults, figures } = await files.run(target, { count: 2, seed: 4, patience, log });
    expect(faults).toEqual([]);
    // One whose weights are others, and one whose header is invalid.
    expect(figures).toMatchObject({ files: 2, answered: 1, refused: 1 });
  });
});
