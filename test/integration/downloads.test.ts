import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { connect } from '../../src/client/index.ts';
import { llamaEngine } from '../../src/engine/llama/engine.ts';
import type { ModelInfo, ModelProgress } from '../../src/frames.gen.ts';
import { defineNode } from '../../src/index.ts';
import { chat } from '../helpers/graphs.ts';
import { seededBytes } from '../helpers/fakeHub.ts';
import { startHubServer, tinyFile, type HubFixture } from '../helpers/hubFixture.ts';
import { TestClient, errorOf, subprotocols } from '../helpers/server.ts';
import { Gate } from '../helpers/gate.ts';
import { oneDayMs, holdLoads } from '../helpers/heldEngine.ts';

const size = tinyFile.length;
const demo = JSON.stringify(chat({ model_name: 'Demo' }));

/** How far a request heard that its model is. */
const progressOf = (client: TestClient, requestId: number): readonly ModelProgress[] =>
  client.received.flatMap((frame) =>
    frame.requestId === requestId && frame.body === 'modelProgress' ? [frame.modelProgress] : [],
  );

/** Waits until a request has heard that some of its model has come, from a hub that holds the rest back. */
const underWay = (client: TestClient, requestId: number): Promise<unknown> =>
  client.waitFor(
    (frame) => frame.requestId === requestId && frame.body === 'modelProgress' && frame.modelProgress.bytesDone > 0,
  );

/** What the server says of a model now. */
async function infoOf(client: TestClient, name: string): Promise<ModelInfo> {
  const answer = await client.request('listModels');
  const info = answer.body === 'listModels' && answer.listModels.models.find((model) => model.name === name);
  if (!info) throw new Error(JSON.stringify(answer));
  return info;
}

const statusOf = async (client: TestClient, name: string): Promise<string> => (await infoOf(client, name)).status;

/** The code and sentence that a request is refused with. */
async function refused(client: TestClient, requestId: number): Promise<readonly [number, string]> {
  const { code, message } = errorOf(await client.finalResponse(requestId));
  return [code, message];
}

/** A server whose hub sends the beginning of a file and no more, as long as the test has it so; each progress is told. */
async function heldHub({ fetching, ...others }: Parameters<typeof startHubServer>[0] = {}): Promise<HubFixture> {
  let now = 0;
  const opened = await startHubServer({ ...others, fetching: { now: () => (now += 1000), ...fetching } });
  opened.hub.maxBytesSent = piece;
  return opened;
}

/** Bytes that the hub sends at once. */
const piece = 2 ** 16;

/** Lets what is under way come to its end. */
const letGo = ({ hub }: HubFixture): void => void (hub.maxBytesSent = Infinity);

describe.concurrent.each(subprotocols)('a model that is not on disk, over %s', (subprotocol) => {
  it('is downloaded on request, with progress at most four times a second and at the end', async () => {
    let now = 0;
    await using home = await heldHub({ fetching: { now: () => now } });
    await using client = await home.connect(subprotocol);
    expect(await infoOf(client, 'Tiny')).toMatchObject({ status: 'ABSENT', sizeBytes: 0 });
    const asked = client.send('downloadModel', { modelName: 'Tiny' });
    while ((await home.fileSize('ann/tiny/model.gguf.part')) < piece) await sleep(10);
    expect(await statusOf(client, 'Tiny')).toBe('DOWNLOADING');
    // What comes within a third of a second of the first is not told, but for the end.
    now += 334;
    home.hub.maxBytesSent = 2 * piece;
    await underWay(client, asked);
    letGo(home);
    expect(await client.finalResponse(asked)).toMatchObject({ downloadModel: { sizeBytes: size } });
    const told = progressOf(client, asked);
    expect(told.map(({ bytesDone }) => bytesDone)).toEqual([0, expect.any(Number), size]);
    expect(told[1]?.bytesDone).toBeLessThanOrEqual(2 * piece);
    expect(new Set(told.map(({ phase }) => phase))).toEqual(new Set(['DOWNLOADING']));
    expect(told.at(-1)).toEqual({
      modelName: 'Tiny',
      phase: 'DOWNLOADING',
      fraction: 1,
      bytesDone: size,
      bytesTotal: size,
    });
    expect(client.received.filter(({ requestId }) => requestId === asked).at(-1)?.body).toBe('downloadModel');
    expect(await infoOf(client, 'Tiny')).toMatchObject({ status: 'DOWNLOADED', sizeBytes: size });
    expect((await home.readModelFile('ann/tiny/model.gguf')).equals(tinyFile)).toBe(true);
  });

  it('is there at once for who asks for it again', async () => {
    await using home = await startHubServer();
    await using client = await home.connect(subprotocol);
    await client.request('downloadModel', { modelName: 'Tiny' });
    const again = client.send('downloadModel', { modelName: 'Tiny' });
    expect(await client.finalResponse(again)).toMatchObject({ downloadModel: { sizeBytes: size } });
    expect(progressOf(client, again)).toMatchObject([{ fraction: 1 }]);
    expect(home.hub.contentRequests()).toHaveLength(1);
  });

  it('says 1 in the end also when the hub does not know its size', async () => {
    await using home = await startHubServer();
    home.hub.files.set('ann/tiny/model.gguf', { content: tinyFile, linkedTag: '', linkedBytes: NaN });
    await using client = await home.connect(subprotocol);
    const asked = client.send('downloadModel', { modelName: 'Tiny' });
    expect(await client.finalResponse(asked)).toMatchObject({ downloadModel: { sizeBytes: size } });
    expect(progressOf(client, asked).at(0)).toMatchObject({ fraction: 0, bytesTotal: 0 });
    expect(progressOf(client, asked).at(-1)).toMatchObject({ fraction: 1, bytesTotal: size });
  });

  it('is fetched once for two sessions that ask at the same time, and both hear how far it is', async () => {
    await using home = await heldHub();
    const clients = await Promise.all([home.connect(subprotocol), home.connect(subprotocol)]);
    const asked = clients.map((client) => client.send('downloadModel', { modelName: 'Tiny' }));
    await Promise.all(clients.map((client, index) => underWay(client, asked[index] ?? 0)));
    letGo(home);
    const answers = await Promise.all(clients.map((client, index) => client.finalResponse(asked[index] ?? 0)));
    expect(answers.map(({ body }) => body)).toEqual(['downloadModel', 'downloadModel']);
    expect(clients.map((client, index) => progressOf(client, asked[index] ?? 0).at(-1)?.fraction)).toEqual([1, 1]);
    expect(clients.map((client, index) => progressOf(client, asked[index] ?? 0).length > 1)).toEqual([true, true]);
    expect(home.hub.contentRequests()).toHaveLength(1);
    for (const client of clients) await client[Symbol.asyncDispose]();
  });

  it('still comes for one session when another cancels', async () => {
    await using home = await heldHub();
    await using leaving = await home.connect(subprotocol);
    await using staying = await home.connect(subprotocol);
    const [left, stayed] = [leaving, staying].map((client) => client.send('downloadModel', { modelName: 'Tiny' }));
    await underWay(leaving, left ?? 0);
    await underWay(staying, stayed ?? 0);
    expect(await leaving.request('cancelDownload', { modelName: 'Tiny' })).toMatchObject({ body: 'ack' });
    expect(await refused(leaving, left ?? 0)).toEqual([
      6011,
      'the download of "Tiny" was cancelled; what came so far is kept',
    ]);
    expect(await statusOf(leaving, 'Tiny')).toBe('DOWNLOADING');
    letGo(home);
    expect(await staying.finalResponse(stayed ?? 0)).toMatchObject({ body: 'downloadModel' });
    expect(home.hub.contentRequests()).toHaveLength(1);
    // A cancel of what is not going on is acknowledged, too.
    expect(await leaving.request('cancelDownload', { modelName: 'Tiny' })).toMatchObject({ body: 'ack' });
  });

  it('cannot be asked for twice by one session, and the first request goes on', async () => {
    await using home = await heldHub();
    await using client = await home.connect(subprotocol);
    const first = client.send('downloadModel', { modelName: 'Tiny' });
    const second = client.send('downloadModel', { modelName: 'Tiny' });
    expect(await refused(client, second)).toEqual([6004, 'you are downloading "Tiny" already']);
    expect(errorOf(await client.request('deleteModel', { modelName: 'Tiny' }))).toMatchObject({
      code: 6004,
      message: '"Tiny" is being downloaded; cancel that first',
    });
    letGo(home);
    expect(await client.finalResponse(first)).toMatchObject({ body: 'downloadModel' });
  });

  it('stops to come when the last session that waits has gone, and goes on from there later', async () => {
    await using home = await heldHub();
    const [one, other] = await Promise.all([home.connect(subprotocol), home.connect(subprotocol)]);
    await using late = await home.connect(subprotocol);
    one.send('downloadModel', { modelName: 'Tiny' });
    await underWay(other, other.send('downloadModel', { modelName: 'Tiny' }));
    one.socket.terminate();
    await one.closed;
    expect(await statusOf(late, 'Tiny')).toBe('DOWNLOADING');
    other.socket.terminate();
    while ((await statusOf(late, 'Tiny')) !== 'ABSENT') await sleep(10);
    expect(await home.listFiles()).toEqual(['model.gguf.part', 'model.gguf.part.json']);
    const kept = (await home.readModelFile('ann/tiny/model.gguf.part')).length;
    expect(kept).toBeGreaterThan(0);
    letGo(home);
    const asked = late.send('downloadModel', { modelName: 'Tiny' });
    expect(await late.finalResponse(asked)).toMatchObject({ downloadModel: { sizeBytes: size } });
    expect(progressOf(late, asked)[0]?.bytesDone).toBe(kept);
    expect(home.hub.contentRequests().map(({ headers }) => headers.range)).toEqual([undefined, `bytes=${kept}-`]);
    expect((await home.readModelFile('ann/tiny/model.gguf')).equals(tinyFile)).toBe(true);
  });

  it('goes on from where a server was shut down, which waits for no download and says 6011', async () => {
    await using home = await heldHub({ graceMs: oneDayMs });
    const client = await home.connect(subprotocol);
    const asked = client.send('downloadModel', { modelName: 'Tiny' });
    await underWay(client, asked);
    await home.server[Symbol.asyncDispose]();
    expect((await refused(client, asked))[0]).toBe(6011);
    expect((await client.closed).code).toBe(1001);
    expect(await home.listFiles()).toEqual(['model.gguf.part', 'model.gguf.part.json']);
    const kept = (await home.readModelFile('ann/tiny/model.gguf.part')).length;
    letGo(home);
    await using server = await home.startAnother();
    await using next = await TestClient.connect(server.url, subprotocol);
    expect(await next.request('downloadModel', { modelName: 'Tiny' })).toMatchObject({ body: 'downloadModel' });
    expect(home.hub.contentRequests().at(-1)?.headers.range).toBe(`bytes=${kept}-`);
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
      'is another file than the catalogue says',
      'Changed',
      6005,
      /another file on the hub than in the catalogue: SHA-256/,
    ],
    ['is not in the catalogue', 'Tyni', 6007, /^the catalogue has no model "Tyni"; did you mean "Tiny"\?$/],
  ])('is refused with a mend when it %s', async (why, modelName, code, sentence) => {
    await using home = await startHubServer();
    if (why === 'is gated') home.hub.gated.add('ann/tiny');
    await using client = await home.connect(subprotocol);
    const asked = client.send('downloadModel', { modelName });
    expect(await refused(client, asked)).toEqual([code, expect.stringMatching(sentence)]);
    expect(await client.request('cancelDownload', { modelName: 'Tiny' })).toMatchObject({ body: 'ack' });
  });

  it('is refused when the disk has no room for it', async () => {
    await using home = await startHubServer({ fetching: { freeBytes: async () => 1_000_000 } });
    await using client = await home.connect(subprotocol);
    expect(errorOf(await client.request('downloadModel', { modelName: 'Tiny' }))).toMatchObject({
      code: 6003,
      message: expect.stringMatching(
        /has 1.0 MB free, and 67.4 MB are needed: 0.3 MB to fetch, and .*; make room/,
      ) as unknown,
    });
  });

  it('is set aside when it is not what the hub promised, and can be asked for again', async () => {
    await using home = await startHubServer();
    home.hub.files.set('ann/tiny/model.gguf', { content: seededBytes(300_000, 7), linkedTag: 'f'.repeat(64) });
    await using client = await home.connect(subprotocol);
    expect(errorOf(await client.request('downloadModel', { modelName: 'Tiny' }))).toMatchObject({ code: 6005 });
    expect(await home.listFiles()).toEqual(['model.gguf.bad']);
    home.hub.files.set('ann/tiny/model.gguf', { content: tinyFile });
    expect(await client.request('downloadModel', { modelName: 'Tiny' })).toMatchObject({ body: 'downloadModel' });
  });
});

/** A client that lets its agents download what they need. */
async function allowing(home: HubFixture, subprotocol: (typeof subprotocols)[number]): Promise<TestClient> {
  const client = await home.connect(subprotocol, 'llama-cpp');
  await client.request('configureSession', { engine: 'llama-cpp', allowAutoModelDownloading: true });
  return client;
}

describe.concurrent.each(subprotocols)('an agent whose model is not on disk, over %s', (subprotocol) => {
  it('is made when the model has been downloaded and loaded, and answers', async () => {
    await using home = await heldHub();
    await using client = await allowing(home, subprotocol);
    expect(await statusOf(client, 'Demo')).toBe('ABSENT');
    const making = client.send('createAgent', { graphJson: demo });
    await underWay(client, making);
    expect(await statusOf(client, 'Demo')).toBe('DOWNLOADING');
    letGo(home);
    expect(await client.finalResponse(making)).toMatchObject({ createAgent: { agentId: 1, warnings: [] } });
    const phases = progressOf(client, making).map(({ phase, fraction }) => `${phase} ${fraction}`);
    expect(phases.indexOf('DOWNLOADING 1')).toBeGreaterThan(0);
    expect(phases.slice(phases.indexOf('DOWNLOADING 1') + 1).every((text) => text.startsWith('LOADING'))).toBe(true);
    expect(phases.at(-1)).toBe('LOADING 1');
    expect(await infoOf(client, 'Demo')).toMatchObject({ status: 'LOADED', agents: 1, pinned: false });
    expect(await client.sendMessage(1, 'How are you today?')).toMatchObject({ status: 'SUCCESS' });
  });

  it('shares the download with another one of the session, and with its own downloadModel', async () => {
    await using home = await heldHub();
    await using client = await allowing(home, subprotocol);
    const asked = [
      client.send('createAgent', { graphJson: demo }),
      client.send('createAgent', { graphJson: demo }),
      client.send('downloadModel', { modelName: 'Demo' }),
    ];
    for (const requestId of asked) await underWay(client, requestId);
    letGo(home);
    const answers = await Promise.all(asked.map((requestId) => client.finalResponse(requestId)));
    expect(answers.map(({ body }) => body)).toEqual(['createAgent', 'createAgent', 'downloadModel']);
    for (const requestId of asked) {
      expect(progressOf(client, requestId)).toContainEqual(
        expect.objectContaining({ phase: 'DOWNLOADING', fraction: 1 }),
      );
    }
    expect(home.hub.contentRequests()).toHaveLength(1);
    expect((await infoOf(client, 'Demo')).agents).toBe(2);
  });

  it('is refused with 6006 and the mend when the download fails', async () => {
    await using home = await startHubServer();
    home.hub.gated.add('ann/demo');
    await using client = await allowing(home, subprotocol);
    const asked = client.send('createAgent', { graphJson: demo });
    expect(await refused(client, asked)).toEqual([
      6006,
      expect.stringMatching(
        /^answer.params.model_name cannot be used: "Demo" could not be downloaded: the hub refuses ann\/demo \(401\).*set HF_TOKEN/,
      ),
    ]);
    home.hub.gated.clear();
    expect(await client.createAgent(chat({ model_name: 'Demo' }))).toBe(1);
  });

  it('is refused with 6011 when the session cancels the download', async () => {
    await using home = await heldHub();
    await using client = await allowing(home, subprotocol);
    const asked = [client.send('createAgent', { graphJson: demo }), client.send('createAgent', { graphJson: demo })];
    await underWay(client, asked[1] ?? 0);
    await client.request('cancelDownload', { modelName: 'Demo' });
    for (const requestId of asked) expect((await refused(client, requestId))[0]).toBe(6011);
    expect(await home.listFiles()).toEqual(['demo.gguf.part', 'demo.gguf.part.json']);
  });

  it('leaves nothing that goes on when its session drops', async () => {
    await using home = await heldHub();
    await using other = await home.connect(subprotocol);
    const client = await allowing(home, subprotocol);
    await underWay(client, client.send('createAgent', { graphJson: demo }));
    client.socket.terminate();
    while ((await statusOf(other, 'Demo')) !== 'ABSENT') await sleep(10);
    expect(await home.listFiles()).toEqual(['demo.gguf.part', 'demo.gguf.part.json']);
  });

  it('is refused with 6008 and the ways to get it when the session does not allow downloads', async () => {
    await using home = await startHubServer();
    await using client = await home.connect(subprotocol, 'llama-cpp');
    const ways =
      '"Demo" is not on disk; downloadModel or turngraph models download "Demo" gets it, or createAgent does where allowAutoModelDownloading is set';
    expect(await refused(client, client.send('createAgent', { graphJson: demo }))).toEqual([
      6008,
      `answer.params.model_name cannot be used: ${ways}`,
    ]);
    expect(await refused(client, client.send('loadModel', { modelName: 'Demo' }))).toEqual([6008, ways]);
    const nowhere = client.send('loadModel', { modelName: 'Nowhere' });
    expect(await refused(client, nowhere)).toEqual([6008, expect.stringMatching(/has no huggingface_repo/)]);
    expect(home.hub.requests).toEqual([]);
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

describe.concurrent.each(['proto', 'json'] as const)('the client of the package, over %s', (codec) => {
  it('leaves a download by its signal, downloads it again, and lets agents download', async () => {
    await using home = await heldHub();
    await using client = await connect(home.server.url, { codec });
    await client.configure({ allowAutoModelDownloading: true });
    const aborter = new AbortController();
    const enough = new Error('enough');
    const onSome = ({ bytesDone }: ModelProgress): void => void (bytesDone > 0 && aborter.abort(enough));
    const left = client.downloadModel('Demo', { onProgress: onSome, signal: aborter.signal });
    await expect(left).rejects.toBe(enough);
    while ((await client.listModels()).find(({ name }) => name === 'Demo')?.status !== 'ABSENT') await sleep(10);
    letGo(home);
    const phases: string[] = [];
    const agent = await client.createAgent({
      graph: chat({ model_name: 'Demo' }),
      onProgress: ({ phase, fraction }) => phases.push(`${phase} ${fraction}`),
    });
    expect(phases).toContain('DOWNLOADING 1');
    expect(phases.at(-1)).toBe('LOADING 1');
    expect(home.hub.contentRequests().at(-1)?.headers.range).toMatch(/^bytes=[1-9]\d*-$/);
    const size = (await home.readModelFile('ann/demo/demo.gguf')).length;
    expect(await client.downloadModel('Demo')).toBe(size);
    await expect(client.deleteModel('Demo')).rejects.toMatchObject({ code: 6010 });
    await agent.destroy();
    await client.deleteModel('Demo');
    await expect(client.deleteModel('Demo')).rejects.toMatchObject({ code: 6008 });
  });
});

describe.concurrent.each(subprotocols)('meanwhile, over %s', (subprotocol) => {
  it('a cancel of the turn of another agent overtakes downloads and a load', async () => {
    const gate = new Gate();
    const engines = { 'llama-cpp': holdLoads(llamaEngine(), gate) };
    await using home = await heldHub({ extension: { nodeTypes: [waits] }, engines });
    await using client = await allowing(home, subprotocol);
    const agentId = await client.createAgent({ start_node: 'a', nodes: { a: { type: 'Waits' } } });
    const turn = client.send('sendMessage', { agentId, text: 'hello' });
    const download = client.send('downloadModel', { modelName: 'Tiny' });
    const making = client.send('createAgent', { graphJson: demo });
    const loading = client.send('loadModel', { modelName: 'turngraph-demo' });
    const acked = await client.request('cancelTurn', { agentId });
    expect(acked.body).toBe('ack');
    expect((await client.turnOf(turn)).status).toBe('CANCELLED');
    const others = [download, making, loading];
    expect(
      client.received.filter(({ requestId, body }) => others.includes(requestId) && body !== 'modelProgress'),
    ).toEqual([]);
    gate.open();
    expect((await client.finalResponse(loading)).body).toBe('loadModel');
    await client.request('cancelDownload', { modelName: 'Demo' });
    expect((await refused(client, making))[0]).toBe(6011);
    letGo(home);
    expect((await client.finalResponse(download)).body).toBe('downloadModel');
  });
});

describe.concurrent.each(subprotocols)('a downloaded model, over %s', (subprotocol) => {
  it('is not deleted while an agent uses it or it is pinned, whoever asks, and is when it is idle', async () => {
    await using home = await startHubServer();
    await using client = await allowing(home, subprotocol);
    await using mock = await home.connect(subprotocol, 'mock');
    const agentId = await client.createAgent(chat({ model_name: 'Demo' }));
    // A session with another engine, and the same file by another name: the file is the same.
    for (const [asker, modelName] of [
      [client, 'Demo'],
      [mock, 'Demo'],
      [mock, 'Twin'],
    ] as const) {
      expect(await refused(asker, asker.send('deleteModel', { modelName }))).toEqual([
        6010,
        '"Demo" is used by agents (1); destroy them first',
      ]);
    }
    expect(await client.request('loadModel', { modelName: 'Demo' })).toMatchObject({ body: 'loadModel' });
    await client.request('destroyAgent', { agentId });
    expect(await refused(client, client.send('deleteModel', { modelName: 'Demo' }))).toEqual([
      6010,
      '"Demo" is loaded to stay; unload it first',
    ]);
    await client.request('unloadModel', { modelName: 'Demo' });
    await client.request('destroyAgent', { agentId: await client.createAgent(chat({ model_name: 'Demo' })) });
    expect(await statusOf(client, 'Demo')).toBe('LOADED');
    expect(await client.request('deleteModel', { modelName: 'Demo' })).toMatchObject({ body: 'ack' });
    expect(await statusOf(client, 'Demo')).toBe('ABSENT');
    expect(await home.listFiles()).toEqual(['downloads.json']);
    expect(await refused(client, client.send('deleteModel', { modelName: 'Demo' }))).toEqual([
      6008,
      '"Demo" is not on disk',
    ]);
  });

  it('is never deleted when it is a file of the user, also when nobody uses it', async () => {
    await using home = await startHubServer();
    await using client = await home.connect(subprotocol, 'llama-cpp');
    await client.request('loadModel', { modelName: 'turngraph-demo' });
    expect(await refused(client, client.send('deleteModel', { modelName: 'turngraph-demo' }))).toEqual([
      6008,
      expect.stringMatching(/^"turngraph-demo" is a file of your own, which is never deleted: .*turngraph-demo.gguf$/),
    ]);
    expect(await infoOf(client, 'turngraph-demo')).toMatchObject({ status: 'LOADED', pinned: true });
  });

  it('stays in memory after its unload until its last agent has gone', async () => {
    await using home = await startHubServer({ modelIdle: 0 });
    await using client = await allowing(home, subprotocol);
    const agentId = await client.createAgent(chat({ model_name: 'Demo' }));
    await client.request('loadModel', { modelName: 'Demo' });
    expect(await infoOf(client, 'Demo')).toMatchObject({ status: 'LOADED', pinned: true, agents: 1 });
    await client.request('unloadModel', { modelName: 'Demo' });
    expect(await infoOf(client, 'Demo')).toMatchObject({ status: 'LOADED', pinned: false, agents: 1 });
    expect(await client.sendMessage(agentId, 'How are you today?')).toMatchObject({ status: 'SUCCESS' });
    await client.request('destroyAgent', { agentId });
    while ((await statusOf(client, 'Demo')) !== 'DOWNLOADED') await sleep(10);
  });
});
