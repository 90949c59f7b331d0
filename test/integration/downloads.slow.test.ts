import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { connect } from '../../src/client/index.ts';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import type { ModelInfo, ModelProgress } from '../../src/protocol/frames.gen.ts';
import { defineNode } from '../../src/index.ts';
import { codecs } from '../helpers/depth.ts';
import { chat } from '../helpers/graphs.ts';
import { seededBytes } from '../helpers/fakeHub.ts';
import { startHubServer, tinyFile, type HubFixture } from '../helpers/hubFixture.ts';
import { TestClient, errorOf, startTestServer, oneSubprotocol } from '../helpers/server.ts';
import { Gate } from '../helpers/gate.ts';
import { oneDayMs, holdLoads } from '../helpers/heldEngine.ts';

const size = tinyFile.length;
const demo = JSON.stringify(chat({ model_name: 'Demo' }));

/** The ModelProgress messages that a request received. */
const progressOf = (client: TestClient, requestId: number): readonly ModelProgress[] =>
  client.received.flatMap((frame) =>
    frame.requestId === requestId && frame.body === 'modelProgress' ? [frame.modelProgress] : [],
  );

/** Waits until a request has received progress above 0 bytes; the hub holds the rest. */
const untilProgress = (client: TestClient, requestId: number): Promise<unknown> =>
  client.waitFor(
    (frame) => frame.requestId === requestId && frame.body === 'modelProgress' && frame.modelProgress.bytesDone > 0,
  );

/** The entry of a model in ListModels. */
async function fetchModelInfo(client: TestClient, name: string): Promise<ModelInfo> {
  const answer = await client.request('listModels');
  const info = answer.body === 'listModels' && answer.listModels.models.find((model) => model.name === name);
  if (!info) throw new Error(JSON.stringify(answer));
  return info;
}

const fetchStatus = async (client: TestClient, name: string): Promise<string> =>
  (await fetchModelInfo(client, name)).status;

/** Code and message of the error that answers a request. */
async function errorResponse(client: TestClient, requestId: number): Promise<readonly [number, string]> {
  const { code, message } = errorOf(await client.finalResponse(requestId));
  return [code, message];
}

/** A server whose hub sends the first piece of a file and holds the rest; no progress message is throttled. */
async function startHeldHub({
  downloadOptions,
  ...others
}: Parameters<typeof startHubServer>[0] = {}): Promise<HubFixture> {
  let now = 0;
  const fixture = await startHubServer({
    ...others,
    downloadOptions: { now: () => (now += 1000), ...downloadOptions },
  });
  fixture.hub.maxBytesSent = piece;
  return fixture;
}

/** Bytes that the hub sends in one write. */
const piece = 2 ** 16;

/** Lets the hub send everything. */
const release = ({ hub }: HubFixture): void => void (hub.maxBytesSent = Infinity);

describe.concurrent.each(oneSubprotocol)('a model that is not on disk, over %s', (subprotocol) => {
  it('is downloaded on request, with progress at most four times a second and at the end', async () => {
    let now = 0;
    await using fixture = await startHeldHub({ downloadOptions: { now: () => now } });
    await using client = await fixture.connect(subprotocol);
    expect(await fetchModelInfo(client, 'Tiny')).toMatchObject({ status: 'ABSENT', sizeBytes: 0 });
    const requestId = client.send('downloadModel', { modelName: 'Tiny' });
    while ((await fixture.fileSize('ann/tiny/model.gguf.part')) < piece) await sleep(10);
    expect(await fetchStatus(client, 'Tiny')).toBe('DOWNLOADING');
    // Progress within a third of a second after the first message is skipped, except for the last.
    now += 334;
    fixture.hub.maxBytesSent = 2 * piece;
    await untilProgress(client, requestId);
    release(fixture);
    expect(await client.finalResponse(requestId)).toMatchObject({ downloadModel: { sizeBytes: size } });
    const updates = progressOf(client, requestId);
    expect(updates.map(({ bytesDone }) => bytesDone)).toEqual([0, expect.any(Number), size]);
    expect(updates[1]?.bytesDone).toBeLessThanOrEqual(2 * piece);
    expect(new Set(updates.map(({ phase }) => phase))).toEqual(new Set(['DOWNLOADING']));
    expect(updates.at(-1)).toEqual({
      modelName: 'Tiny',
      phase: 'DOWNLOADING',
      fraction: 1,
      bytesDone: size,
      bytesTotal: size,
    });
    expect(client.received.filter((frame) => frame.requestId === requestId).at(-1)?.body).toBe('downloadModel');
    expect(await fetchModelInfo(client, 'Tiny')).toMatchObject({ status: 'DOWNLOADED', sizeBytes: size });
    expect((await fixture.readModelFile('ann/tiny/model.gguf')).equals(tinyFile)).toBe(true);
  });

  it('is available immediately when it is requested again', async () => {
    await using fixture = await startHubServer();
    await using client = await fixture.connect(subprotocol);
    await client.request('downloadModel', { modelName: 'Tiny' });
    const again = client.send('downloadModel', { modelName: 'Tiny' });
    expect(await client.finalResponse(again)).toMatchObject({ downloadModel: { sizeBytes: size } });
    expect(progressOf(client, again)).toMatchObject([{ fraction: 1 }]);
    expect(fixture.hub.contentRequests()).toHaveLength(1);
  });

  it('reports fraction 1 at the end also when the hub does not report its size', async () => {
    await using fixture = await startHubServer();
    fixture.hub.files.set('ann/tiny/model.gguf', { content: tinyFile, linkedEtag: '', linkedBytes: NaN });
    await using client = await fixture.connect(subprotocol);
    const requestId = client.send('downloadModel', { modelName: 'Tiny' });
    expect(await client.finalResponse(requestId)).toMatchObject({ downloadModel: { sizeBytes: size } });
    expect(progressOf(client, requestId).at(0)).toMatchObject({ fraction: 0, bytesTotal: 0 });
    expect(progressOf(client, requestId).at(-1)).toMatchObject({ fraction: 1, bytesTotal: size });
  });

  it('is downloaded once for two sessions, and both receive its progress', async () => {
    await using fixture = await startHeldHub();
    const clients = await Promise.all([fixture.connect(subprotocol), fixture.connect(subprotocol)]);
    const requestIds = clients.map((client) => client.send('downloadModel', { modelName: 'Tiny' }));
    await Promise.all(clients.map((client, index) => untilProgress(client, requestIds[index] ?? 0)));
    release(fixture);
    const answers = await Promise.all(clients.map((client, index) => client.finalResponse(requestIds[index] ?? 0)));
    expect(answers.map(({ body }) => body)).toEqual(['downloadModel', 'downloadModel']);
    expect(clients.map((client, index) => progressOf(client, requestIds[index] ?? 0).at(-1)?.fraction)).toEqual([1, 1]);
    expect(clients.map((client, index) => progressOf(client, requestIds[index] ?? 0).length > 1)).toEqual([true, true]);
    expect(fixture.hub.contentRequests()).toHaveLength(1);
    for (const client of clients) await client[Symbol.asyncDispose]();
  });

  it('is still downloaded for one session when another cancels', async () => {
    await using fixture = await startHeldHub();
    await using leaving = await fixture.connect(subprotocol);
    await using staying = await fixture.connect(subprotocol);
    const [left, stayed] = [leaving, staying].map((client) => client.send('downloadModel', { modelName: 'Tiny' }));
    await untilProgress(leaving, left ?? 0);
    await untilProgress(staying, stayed ?? 0);
    expect(await leaving.request('cancelDownload', { modelName: 'Tiny' })).toMatchObject({ body: 'ack' });
    expect(await errorResponse(leaving, left ?? 0)).toEqual([
      6011,
      'the download of "Tiny" was cancelled; what came so far is kept',
    ]);
    expect(await fetchStatus(leaving, 'Tiny')).toBe('DOWNLOADING');
    release(fixture);
    expect(await staying.finalResponse(stayed ?? 0)).toMatchObject({ body: 'downloadModel' });
    expect(fixture.hub.contentRequests()).toHaveLength(1);
    // A cancel without a download is acknowledged, too.
    expect(await leaving.request('cancelDownload', { modelName: 'Tiny' })).toMatchObject({ body: 'ack' });
  });

  it('is rejected when a session requests it twice, and the first request continues', async () => {
    await using fixture = await startHeldHub();
    await using client = await fixture.connect(subprotocol);
    const first = client.send('downloadModel', { modelName: 'Tiny' });
    const second = client.send('downloadModel', { modelName: 'Tiny' });
    expect(await errorResponse(client, second)).toEqual([6004, 'you are downloading "Tiny" already']);
    expect(errorOf(await client.request('deleteModel', { modelName: 'Tiny' }))).toMatchObject({
      code: 6004,
      message: '"Tiny" is being downloaded; cancel that first',
    });
    release(fixture);
    expect(await client.finalResponse(first)).toMatchObject({ body: 'downloadModel' });
  });

  it('stops downloading when the last waiting session has ended, and resumes later', async () => {
    await using fixture = await startHeldHub({ resumeGrace: 0 });
    const [one, other] = await Promise.all([fixture.connect(subprotocol), fixture.connect(subprotocol)]);
    await using late = await fixture.connect(subprotocol);
    one.send('downloadModel', { modelName: 'Tiny' });
    await untilProgress(other, other.send('downloadModel', { modelName: 'Tiny' }));
    one.socket.terminate();
    await one.closed;
    expect(await fetchStatus(late, 'Tiny')).toBe('DOWNLOADING');
    other.socket.terminate();
    while ((await fetchStatus(late, 'Tiny')) !== 'ABSENT') await sleep(10);
    expect(await fixture.listFiles()).toEqual(['model.gguf.part', 'model.gguf.part.json']);
    const kept = (await fixture.readModelFile('ann/tiny/model.gguf.part')).length;
    expect(kept).toBeGreaterThan(0);
    release(fixture);
    const requestId = late.send('downloadModel', { modelName: 'Tiny' });
    expect(await late.finalResponse(requestId)).toMatchObject({ downloadModel: { sizeBytes: size } });
    expect(progressOf(late, requestId)[0]?.bytesDone).toBe(kept);
    expect(fixture.hub.contentRequests().map(({ headers }) => headers.range)).toEqual([undefined, `bytes=${kept}-`]);
    expect((await fixture.readModelFile('ann/tiny/model.gguf')).equals(tinyFile)).toBe(true);
  });

  it('resumes after a shutdown, which cancels downloads with 6011', async () => {
    await using fixture = await startHeldHub({ graceMs: oneDayMs });
    const client = await fixture.connect(subprotocol);
    const requestId = client.send('downloadModel', { modelName: 'Tiny' });
    await untilProgress(client, requestId);
    await fixture.server[Symbol.asyncDispose]();
    expect((await errorResponse(client, requestId))[0]).toBe(6011);
    expect((await client.closed).code).toBe(1001);
    expect(await fixture.listFiles()).toEqual(['model.gguf.part', 'model.gguf.part.json']);
    const kept = (await fixture.readModelFile('ann/tiny/model.gguf.part')).length;
    release(fixture);
    await using server = await fixture.startAnother();
    await using next = await TestClient.connect(server.url, subprotocol);
    expect(await next.request('downloadModel', { modelName: 'Tiny' })).toMatchObject({ body: 'downloadModel' });
    expect(fixture.hub.contentRequests().at(-1)?.headers.range).toBe(`bytes=${kept}-`);
  });

  it.each([
    [
      'is gated',
      'Tiny',
      6001,
      /accept its licence at http:\S+\/ann\/tiny and set HF_TOKEN to a token of your account$/,
    ],
    ['is not on the hub', 'Lost', 6002, /^the hub has no model.gguf of ann\/lost; look at http:/],
    ['has no repository', 'Nowhere', 6002, /its entry in the catalogue has no huggingface_repo$/],
    [
      'is another file than the catalogue names',
      'Changed',
      6005,
      /another file on the hub than in the catalogue: SHA-256/,
    ],
    ['is not in the catalogue', 'Tyni', 6007, /^the catalogue has no model "Tyni"; did you mean "Tiny"\?$/],
  ])('is rejected with a hint when it %s', async (why, modelName, code, sentence) => {
    await using fixture = await startHubServer();
    if (why === 'is gated') fixture.hub.gated.add('ann/tiny');
    await using client = await fixture.connect(subprotocol);
    const requestId = client.send('downloadModel', { modelName });
    expect(await errorResponse(client, requestId)).toEqual([code, expect.stringMatching(sentence)]);
    expect(await client.request('cancelDownload', { modelName: 'Tiny' })).toMatchObject({ body: 'ack' });
  });

  it('is rejected when the disk has too little space', async () => {
    await using fixture = await startHubServer({ downloadOptions: { freeBytes: async () => 1_000_000 } });
    await using client = await fixture.connect(subprotocol);
    expect(errorOf(await client.request('downloadModel', { modelName: 'Tiny' }))).toMatchObject({
      code: 6003,
      message: expect.stringMatching(
        /has 1.0 MB free, and 67.4 MB are needed: 0.3 MB to fetch, and .*; make room/,
      ) as unknown,
    });
  });

  it('is quarantined when its SHA-256 is not that of the hub, and can be requested again', async () => {
    await using fixture = await startHubServer();
    fixture.hub.files.set('ann/tiny/model.gguf', { content: seededBytes(300_000, 7), linkedEtag: 'f'.repeat(64) });
    await using client = await fixture.connect(subprotocol);
    expect(errorOf(await client.request('downloadModel', { modelName: 'Tiny' }))).toMatchObject({ code: 6005 });
    expect(await fixture.listFiles()).toEqual(['model.gguf.bad']);
    fixture.hub.files.set('ann/tiny/model.gguf', { content: tinyFile });
    expect(await client.request('downloadModel', { modelName: 'Tiny' })).toMatchObject({ body: 'downloadModel' });
  });
});

/** A client that allows its agents to download models. */
async function connectWithAutoDownload(
  fixture: HubFixture,
  subprotocol: (typeof oneSubprotocol)[number],
): Promise<TestClient> {
  const client = await fixture.connect(subprotocol, 'llama-cpp');
  await client.request('configureSession', { engine: 'llama-cpp', allowAutoModelDownloading: true });
  return client;
}

describe.concurrent.each(oneSubprotocol)('an agent whose model is not on disk, over %s', (subprotocol) => {
  it('is created after the model was downloaded and loaded, and answers', async () => {
    await using fixture = await startHeldHub();
    await using client = await connectWithAutoDownload(fixture, subprotocol);
    expect(await fetchStatus(client, 'Demo')).toBe('ABSENT');
    const making = client.send('createAgent', { graphJson: demo });
    await untilProgress(client, making);
    expect(await fetchStatus(client, 'Demo')).toBe('DOWNLOADING');
    release(fixture);
    expect(await client.finalResponse(making)).toMatchObject({ createAgent: { agentId: 1, warnings: [] } });
    const phases = progressOf(client, making).map(({ phase, fraction }) => `${phase} ${fraction}`);
    expect(phases.indexOf('DOWNLOADING 1')).toBeGreaterThan(0);
    expect(phases.slice(phases.indexOf('DOWNLOADING 1') + 1).every((text) => text.startsWith('LOADING'))).toBe(true);
    expect(phases.at(-1)).toBe('LOADING 1');
    expect(await fetchModelInfo(client, 'Demo')).toMatchObject({ status: 'LOADED', agents: 1, pinned: false });
    expect(await client.sendMessage(1, 'How are you today?')).toMatchObject({ status: 'SUCCESS' });
  });

  it('shares the download with another agent and with a downloadModel of the session', async () => {
    await using fixture = await startHeldHub();
    await using client = await connectWithAutoDownload(fixture, subprotocol);
    const requestIds = [
      client.send('createAgent', { graphJson: demo }),
      client.send('createAgent', { graphJson: demo }),
      client.send('downloadModel', { modelName: 'Demo' }),
    ];
    for (const requestId of requestIds) await untilProgress(client, requestId);
    release(fixture);
    const answers = await Promise.all(requestIds.map((requestId) => client.finalResponse(requestId)));
    expect(answers.map(({ body }) => body)).toEqual(['createAgent', 'createAgent', 'downloadModel']);
    for (const requestId of requestIds) {
      expect(progressOf(client, requestId)).toContainEqual(
        expect.objectContaining({ phase: 'DOWNLOADING', fraction: 1 }),
      );
    }
    expect(fixture.hub.contentRequests()).toHaveLength(1);
    expect((await fetchModelInfo(client, 'Demo')).agents).toBe(2);
  });

  it('is rejected with 6006 and a hint when the download fails', async () => {
    await using fixture = await startHubServer();
    fixture.hub.gated.add('ann/demo');
    await using client = await connectWithAutoDownload(fixture, subprotocol);
    const requestId = client.send('createAgent', { graphJson: demo });
    expect(await errorResponse(client, requestId)).toEqual([
      6006,
      expect.stringMatching(
        /^answer.params.model_name cannot be used: "Demo" could not be downloaded: the hub refuses ann\/demo \(401\).*set HF_TOKEN/,
      ),
    ]);
    fixture.hub.gated.clear();
    expect(await client.createAgent(chat({ model_name: 'Demo' }))).toBe(1);
  });

  it('is rejected with 6011 when the session cancels the download', async () => {
    await using fixture = await startHeldHub();
    await using client = await connectWithAutoDownload(fixture, subprotocol);
    const requestIds = [
      client.send('createAgent', { graphJson: demo }),
      client.send('createAgent', { graphJson: demo }),
    ];
    await untilProgress(client, requestIds[1] ?? 0);
    await client.request('cancelDownload', { modelName: 'Demo' });
    for (const requestId of requestIds) expect((await errorResponse(client, requestId))[0]).toBe(6011);
    expect(await fixture.listFiles()).toEqual(['demo.gguf.part', 'demo.gguf.part.json']);
  });

  it('stops its download when its session ends', async () => {
    await using fixture = await startHeldHub({ resumeGrace: 0 });
    await using other = await fixture.connect(subprotocol);
    const client = await connectWithAutoDownload(fixture, subprotocol);
    await untilProgress(client, client.send('createAgent', { graphJson: demo }));
    client.socket.terminate();
    while ((await fetchStatus(other, 'Demo')) !== 'ABSENT') await sleep(10);
    expect(await fixture.listFiles()).toEqual(['demo.gguf.part', 'demo.gguf.part.json']);
  });

  it('is rejected with 6008 and the ways to get it when the session does not allow downloads', async () => {
    await using fixture = await startHubServer();
    await using client = await fixture.connect(subprotocol, 'llama-cpp');
    const ways =
      '"Demo" is not on disk; downloadModel or turngraph models download "Demo" gets it, or createAgent does where allowAutoModelDownloading is set';
    expect(await errorResponse(client, client.send('createAgent', { graphJson: demo }))).toEqual([
      6008,
      `answer.params.model_name cannot be used: ${ways}`,
    ]);
    expect(await errorResponse(client, client.send('loadModel', { modelName: 'Demo' }))).toEqual([6008, ways]);
    const nowhere = client.send('loadModel', { modelName: 'Nowhere' });
    expect(await errorResponse(client, nowhere)).toEqual([6008, expect.stringMatching(/has no huggingface_repo/)]);
    expect(fixture.hub.requests).toEqual([]);
  });
});

const waits = defineNode({
  type: 'Waits',
  summary: 'Waits until its turn is cancelled.',
  params: { type: 'object', properties: {} },
  exits: ['default'],
  create: async () => ({
    run: ({ signal }) =>
      new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
  }),
});

describe.concurrent.each(codecs)('the client of the package, over %s', (codec) => {
  it('lists a size for every model of the package, so that a game can ask before it downloads', async () => {
    await using server = await startTestServer({});
    await using client = await connect(server.url, { codec });
    const models = await client.listModels();
    expect(models.length).toBeGreaterThan(30);
    expect(models.filter(({ sizeBytes }) => sizeBytes < 1e6)).toEqual([]);
  });

  it('cancels a download by its signal, downloads it again, and lets agents download', async () => {
    await using fixture = await startHeldHub();
    await using client = await connect(fixture.server.url, { codec });
    await client.configure({ allowAutoModelDownloading: true });
    const aborter = new AbortController();
    const enough = new Error('enough');
    const onSome = ({ bytesDone }: ModelProgress): void => void (bytesDone > 0 && aborter.abort(enough));
    const left = client.downloadModel('Demo', { onProgress: onSome, signal: aborter.signal });
    await expect(left).rejects.toBe(enough);
    while ((await client.listModels()).find(({ name }) => name === 'Demo')?.status !== 'ABSENT') await sleep(10);
    release(fixture);
    const phases: string[] = [];
    const agent = await client.createAgent({
      graph: chat({ model_name: 'Demo' }),
      onProgress: ({ phase, fraction }) => phases.push(`${phase} ${fraction}`),
    });
    expect(phases).toContain('DOWNLOADING 1');
    expect(phases.at(-1)).toBe('LOADING 1');
    expect(fixture.hub.contentRequests().at(-1)?.headers.range).toMatch(/^bytes=[1-9]\d*-$/);
    const size = (await fixture.readModelFile('ann/demo/demo.gguf')).length;
    expect(await client.downloadModel('Demo')).toBe(size);
    await expect(client.deleteModel('Demo')).rejects.toMatchObject({ code: 6010 });
    await agent.destroy();
    await client.deleteModel('Demo');
    await expect(client.deleteModel('Demo')).rejects.toMatchObject({ code: 6008 });
  });
});

describe.concurrent.each(oneSubprotocol)('during downloads and loads, over %s', (subprotocol) => {
  it('the cancel of a turn is answered before them', async () => {
    const gate = new Gate();
    const engines = { 'llama-cpp': holdLoads(llamaEngine(), gate) };
    await using fixture = await startHeldHub({ extension: { nodeTypes: [waits] }, engines });
    await using client = await connectWithAutoDownload(fixture, subprotocol);
    const agentId = await client.createAgent({ start_node: 'a', nodes: { a: { type: 'Waits' } } });
    const turn = client.send('sendMessage', { agentId, text: 'hello' });
    const download = client.send('downloadModel', { modelName: 'Tiny' });
    const making = client.send('createAgent', { graphJson: demo });
    const loading = client.send('loadModel', { modelName: 'turngraph-demo' });
    const acknowledgement = await client.request('cancelTurn', { agentId });
    expect(acknowledgement.body).toBe('ack');
    expect((await client.turnOf(turn)).status).toBe('CANCELLED');
    const others = [download, making, loading];
    expect(
      client.received.filter(({ requestId, body }) => others.includes(requestId) && body !== 'modelProgress'),
    ).toEqual([]);
    gate.open();
    expect((await client.finalResponse(loading)).body).toBe('loadModel');
    await client.request('cancelDownload', { modelName: 'Demo' });
    expect((await errorResponse(client, making))[0]).toBe(6011);
    release(fixture);
    expect((await client.finalResponse(download)).body).toBe('downloadModel');
  });
});

describe.concurrent.each(oneSubprotocol)('a downloaded model, over %s', (subprotocol) => {
  it('is deleted only when no agent uses it and it is not pinned, whatever session asks', async () => {
    await using fixture = await startHubServer();
    await using client = await connectWithAutoDownload(fixture, subprotocol);
    await using mock = await fixture.connect(subprotocol, 'mock');
    const agentId = await client.createAgent(chat({ model_name: 'Demo' }));
    // A session with another engine, and another name of the same file.
    for (const [requester, modelName] of [
      [client, 'Demo'],
      [mock, 'Demo'],
      [mock, 'Twin'],
    ] as const) {
      expect(await errorResponse(requester, requester.send('deleteModel', { modelName }))).toEqual([
        6010,
        '"Demo" is used by agents (1); destroy them first',
      ]);
    }
    expect(await client.request('loadModel', { modelName: 'Demo' })).toMatchObject({ body: 'loadModel' });
    await client.request('destroyAgent', { agentId });
    expect(await errorResponse(client, client.send('deleteModel', { modelName: 'Demo' }))).toEqual([
      6010,
      '"Demo" is loaded to stay; unload it first',
    ]);
    await client.request('unloadModel', { modelName: 'Demo' });
    await client.request('destroyAgent', { agentId: await client.createAgent(chat({ model_name: 'Demo' })) });
    expect(await fetchStatus(client, 'Demo')).toBe('LOADED');
    expect(await client.request('deleteModel', { modelName: 'Demo' })).toMatchObject({ body: 'ack' });
    expect(await fetchStatus(client, 'Demo')).toBe('ABSENT');
    expect(await fixture.listFiles()).toEqual(['downloads.json']);
    expect(await errorResponse(client, client.send('deleteModel', { modelName: 'Demo' }))).toEqual([
      6008,
      '"Demo" is not on disk',
    ]);
  });

  it('is never deleted when it is a file of the user', async () => {
    await using fixture = await startHubServer();
    await using client = await fixture.connect(subprotocol, 'llama-cpp');
    await client.request('loadModel', { modelName: 'turngraph-demo' });
    expect(await errorResponse(client, client.send('deleteModel', { modelName: 'turngraph-demo' }))).toEqual([
      6008,
      expect.stringMatching(/^"turngraph-demo" is a file of your own, which is never deleted: .*turngraph-demo.gguf$/),
    ]);
    expect(await fetchModelInfo(client, 'turngraph-demo')).toMatchObject({ status: 'LOADED', pinned: true });
  });

  it('stays in memory after unloadModel until its last agent is destroyed', async () => {
    await using fixture = await startHubServer({ modelIdle: 0 });
    await using client = await connectWithAutoDownload(fixture, subprotocol);
    const agentId = await client.createAgent(chat({ model_name: 'Demo' }));
    await client.request('loadModel', { modelName: 'Demo' });
    expect(await fetchModelInfo(client, 'Demo')).toMatchObject({ status: 'LOADED', pinned: true, agents: 1 });
    await client.request('unloadModel', { modelName: 'Demo' });
    expect(await fetchModelInfo(client, 'Demo')).toMatchObject({ status: 'LOADED', pinned: false, agents: 1 });
    expect(await client.sendMessage(agentId, 'How are you today?')).toMatchObject({ status: 'SUCCESS' });
    await client.request('destroyAgent', { agentId });
    while ((await fetchStatus(client, 'Demo')) !== 'DOWNLOADED') await sleep(10);
  });
});
