import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { DownloadOptions } from '../../src/download/downloads.ts';
import { codes, type ClientFrameBodies, type CodeName, type ServerFrame } from '../../src/frames.gen.ts';
import { defineNode } from '../../src/index.ts';
import type { Subprotocol } from '../../src/wire/codec.ts';
import { chat, lamp, setLight } from '../helpers/graphs.ts';
import { startHubServer, tinyFile, type HubFixture } from '../helpers/hubFixture.ts';
import { Gate } from '../helpers/gate.ts';
import { oneDayMs } from '../helpers/heldEngine.ts';
import { demoWithTemplate } from '../model/demoTemplate.ts';
import { useServer, TestClient, startTestServer, subprotocols } from '../helpers/server.ts';

/** Errors that only a client sees, and those of what this version of the server does not do. */
type Elsewhere = 'CONNECTION_FAILED' | 'CONNECTION_DROPPED' | 'TIMEOUT' | 'UNAUTHORIZED' | 'ENGINE_CRASHED';

/** How one error is provoked: what the client hears of it. The type makes this list complete. */
type Provocations = {
  readonly [Name in Exclude<CodeName, Elsewhere>]: (client: TestClient, subprotocol: Subprotocol) => Promise<Heard>;
};

interface Heard {
  readonly code: number;
  readonly name: string;
  readonly message: string;
}

const broken = defineNode({
  type: 'Broken',
  summary: 'Fails inside.',
  params: { type: 'object', properties: {} },
  exits: ['default'],
  create: async () => ({
    async run() {
      throw new TypeError('the secret is swordfish');
    },
  }),
});

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  await mkdir(join(folder, 'root'));
  await writeFile(join(folder, 'root', 'lines.txt'), 'a line\n');
  await symlink('/etc/hostname', join(folder, 'root', 'link.txt'));
  await writeFile(join(folder, 'text.gguf'), 'this is no model');
  await writeFile(join(folder, 'moody.gguf'), await demoWithTemplate(moody));
  const model = (name: string) => ({
    name,
    variants: [{ engine: 'llama-cpp', local_path: '.', files: [`${name}.gguf`], context_size: 256 }],
  });
  await writeFile(
    join(folder, 'models.json'),
    JSON.stringify({ models: [model('text'), model('gone'), model('moody')] }),
  );
});
afterAll(() => rm(folder, { recursive: true }));

// Refuses one word, as templates of real families refuse what they do not know.
const moody =
  "{% for m in messages %}{% if 'boom' in m.content %}{{ raise_exception('no such word') }}{% endif %}{{ m.content }}{% endfor %}";

const server = useServer({
  extension: { nodeTypes: [broken] },
  get storageRoot() {
    return join(folder, 'root');
  },
  get catalogue() {
    return join(folder, 'models.json');
  },
  script: [{ match: 'slowly', answer: 'one two three four', gate: new Gate() }],
  maxAgents: 2,
});

/** The error in an answer, whichever frame carries it. */
function errorOf(frame: ServerFrame): Heard {
  if (frame.body === 'error') return frame.error;
  if (frame.body === 'turnComplete' && frame.turnComplete.error) return frame.turnComplete.error;
  throw new Error(`no error in ${JSON.stringify(frame)}`);
}

const refused =
  <K extends keyof ClientFrameBodies>(body: K, fields: Partial<ClientFrameBodies[K]>) =>
  async (client: TestClient): Promise<Heard> =>
    errorOf(await client.request(body, fields));

const graphRefused = (graph: object) => refused('createAgent', { graphJson: JSON.stringify(graph) });

const turnFails =
  (graph: object, text: string, fields: Partial<ClientFrameBodies['createAgent']> = {}) =>
  async (client: TestClient) => {
    const agentId = await client.createAgent(graph, fields);
    return errorOf(await client.request('sendMessage', { agentId, text }));
  };

const paramRefused = (nodeName: string, params: object) => async (client: TestClient) =>
  errorOf(
    await client.request('changeParams', {
      agentId: await client.createAgent(lamp()),
      nodeName,
      paramsJson: JSON.stringify(params),
    }),
  );

const storageRefused = (fields: Partial<ClientFrameBodies['createStringStorage']>) => async (client: TestClient) => {
  await client.request('createStringStorage', { name: 'taken', strings: ['x'] });
  return errorOf(await client.request('createStringStorage', { name: 'lines', kind: 'LIST', ...fields }));
};

/** An error that comes unasked. */
const unasked = async (client: TestClient): Promise<Heard> =>
  errorOf(await client.waitFor(({ body }) => body === 'error'));

/** What a client hears whose server fetches its models from a hub. */
const fromHub =
  (provoke: (client: TestClient, home: HubFixture) => Promise<Heard>, fetching: DownloadOptions = {}) =>
  async (_: TestClient, subprotocol: Subprotocol): Promise<Heard> => {
    await using home = await startHubServer({ fetching });
    await using client = await home.connect(subprotocol, 'llama-cpp');
    return await provoke(client, home);
  };

const download = refused('downloadModel', { modelName: 'Tiny' });

/** Begins a download that does not come to its end by itself. */
async function endlessDownload(client: TestClient, { hub }: HubFixture): Promise<number> {
  hub.faults.store.push({ kind: 'stall', after: 65_536 });
  const requestId = client.send('downloadModel', { modelName: 'Tiny' });
  await client.receive('modelProgress');
  return requestId;
}

const endless = (next: string) => ({
  type: 'CannedResponse',
  params: { inline_strings: ['x'] },
  exits: { default: next },
});

const provocations: Provocations = {
  SERVER_SHUTTING_DOWN: async (_, subprotocol) => {
    const gate = new Gate();
    const leaving = await startTestServer({ graceMs: oneDayMs, script: [{ match: 'slowly', answer: 'a b c', gate }] });
    await using client = await TestClient.connect(leaving.url, subprotocol);
    const agentId = await client.createAgent(chat());
    client.send('sendMessage', { agentId, text: 'slowly' });
    await client.receive('answerText');
    const gone = leaving[Symbol.asyncDispose]();
    const heard = errorOf(await client.request('createAgent', { graphJson: JSON.stringify(chat()) }));
    gate.open();
    await gone;
    return heard;
  },
  SESSION_NOT_RESUMABLE: refused('resumeSession', { sessionId: 'x', resumeToken: 'y' }),
  LIMIT_EXCEEDED: async (client) => {
    await client.createAgent(chat());
    await client.createAgent(chat());
    return graphRefused(chat())(client);
  },
  INVALID_AGENT_ID: refused('sendMessage', { agentId: 9 }),
  AGENT_ALREADY_DESTROYED: async (client) => {
    const agentId = await client.createAgent(chat());
    await client.request('destroyAgent', { agentId });
    return refused('clearDialog', { agentId })(client);
  },
  GRAPH_COMPILATION_FAILED: graphRefused({ start_node: 'a', nodes: {} }),
  AGENT_BUSY: async (client) => {
    const agentId = await client.createAgent(chat());
    client.send('sendMessage', { agentId, text: 'slowly' });
    return refused('sendMessage', { agentId, text: 'more' })(client);
  },
  UNKNOWN_NODE: paramRefused('nobody', {}),
  PARAM_NOT_MUTABLE: paramRefused('detect', { tools: [setLight] }),
  INVALID_PARAM_VALUE: paramRefused('detect', { notify_client: 3 }),
  INVALID_EXIT_TARGET: graphRefused({ start_node: 'a', nodes: { a: { type: 'Generate', exits: { default: 'b' } } } }),
  STORAGE_OUTSIDE_ROOT: storageRefused({ filePath: 'link.txt' }),
  STORAGE_FILE_NOT_FOUND: storageRefused({ filePath: 'nowhere.txt' }),
  STORAGE_KIND_MISMATCH: storageRefused({ filePath: 'lines.txt', kind: 'MAP' }),
  NO_RESULTS_AWAITED: refused('submitToolResults', { agentId: 1 }),
  INFERENCE_FAILED: async (_, subprotocol) => {
    await using client = await TestClient.connect(server().url, subprotocol, 'llama-cpp');
    return await turnFails(chat({ model_name: 'moody' }), 'boom')(client);
  },
  INFERENCE_TIMEOUT: async (_, subprotocol) => {
    const script = [{ match: 'slowly', answer: 'one two', gate: new Gate() }];
    await using hasty = await startTestServer({ turnTimeout: 0.1, script });
    await using client = await TestClient.connect(hasty.url, subprotocol);
    return await turnFails(chat(), 'slowly')(client);
  },
  MAX_STEPS_EXCEEDED: turnFails({ start_node: 'a', nodes: { a: endless('b'), b: endless('a') } }, 'go', {
    maxStepsPerTurn: 3,
  }),
  PROMPT_TOO_LARGE: turnFails(chat(), 'x'.repeat(60_000)),
  MALFORMED_MESSAGE: async (client, subprotocol) => {
    client.socket.send(
      subprotocol === 'turngraph.v1.json'
        ? '{"requestId": 1, "sendMessage": {"agentId": "one"}}'
        : Buffer.from([0x0a, 0xff]),
    );
    return unasked(client);
  },
  UNKNOWN_MESSAGE_TYPE: async (client, subprotocol) => {
    client.socket.send(
      subprotocol === 'turngraph.v1.json' ? '{"requestId": 1, "sendMesage": {}}' : Buffer.from([0xf2, 0x03, 0x00]),
    );
    return unasked(client);
  },
  FRAME_TOO_LARGE: async (client) => {
    client.socket.send(Buffer.alloc(1024 * 1024 + 1));
    return unasked(client);
  },
  PROTOCOL_VERSION_MISMATCH: async () => {
    const socket = new WebSocket(server().url, ['turngraph.v2.proto']);
    const text = await new Promise<string>((resolve) =>
      socket.on('message', (data: Buffer) => resolve(data.toString())),
    );
    return (JSON.parse(text) as { error: Heard }).error;
  },
  INTERNAL: turnFails({ start_node: 'a', nodes: { a: { type: 'Broken' } } }, 'go'),
  UNKNOWN_MODEL: graphRefused(chat({ model_name: 'nobody' })),
  MODEL_NOT_ON_DISK: async (_, subprotocol) => {
    await using client = await TestClient.connect(server().url, subprotocol, 'llama-cpp');
    return await refused('loadModel', { modelName: 'gone' })(client);
  },
  MODEL_LOAD_FAILED: async (_, subprotocol) => {
    await using client = await TestClient.connect(server().url, subprotocol, 'llama-cpp');
    return await refused('loadModel', { modelName: 'text' })(client);
  },
  DOWNLOAD_FAILED: fromHub((client, { hub }) => {
    hub.gated.add('ann/tiny');
    return download(client);
  }),
  DOWNLOAD_NOT_AVAILABLE: fromHub(download, { env: { HF_HUB_OFFLINE: '1' } }),
  INSUFFICIENT_DISK_SPACE: fromHub(download, { freeBytes: async () => 0 }),
  DOWNLOAD_ALREADY_ACTIVE: fromHub(async (client, home) => {
    await endlessDownload(client, home);
    return download(client);
  }),
  CHECKSUM_MISMATCH: fromHub((client, { hub }) => {
    hub.files.set('ann/tiny/model.gguf', { content: tinyFile, linkedTag: 'f'.repeat(64) });
    return download(client);
  }),
  MODEL_AUTO_DOWNLOAD_FAILED: fromHub(async (client, { hub }) => {
    hub.files.clear();
    await client.request('configureSession', { allowAutoModelDownloading: true });
    return graphRefused(chat({ model_name: 'Tiny' }))(client);
  }),
  MODEL_IN_USE: fromHub(async (client) => {
    await client.request('downloadModel', { modelName: 'Demo' });
    await client.createAgent(chat({ model_name: 'Demo' }));
    return refused('deleteModel', { modelName: 'Demo' })(client);
  }),
  DOWNLOAD_CANCELLED: fromHub(async (client, home) => {
    const requestId = await endlessDownload(client, home);
    await client.request('cancelDownload', { modelName: 'Tiny' });
    return errorOf(await client.finalResponse(requestId));
  }),
  INVALID_STRING_STORAGE_NAME: storageRefused({ name: 'a/b' }),
  STRING_STORAGE_ALREADY_EXISTS: storageRefused({ name: 'taken' }),
  INVALID_STRING_STORAGE_DATA: storageRefused({ strings: ['a'], keys: ['b'] }),
  STORAGE_NAME_IN_USE: storageRefused({ name: 'lines.txt' }),
};

describe.each(subprotocols)('over %s', (subprotocol) => {
  it.each(Object.entries(provocations))(
    '%s is what a client hears, by its number and with a sentence',
    async (name, provoke) => {
      await using client = await TestClient.connect(server().url, subprotocol);
      const heard = await provoke(client, subprotocol);
      expect(heard).toMatchObject({ name, code: codes[name as CodeName] });
      expect(heard.message.split(' ').length).toBeGreaterThan(3);
      expect(heard.message).not.toContain('swordfish');
    },
  );
});

/** What every message answers when it is good: the type makes this list complete. */
type Answers = {
  readonly [K in keyof ClientFrameBodies]: readonly [
    Partial<ClientFrameBodies[K]>,
    keyof ClientFrameBodies | 'ack' | 'error' | 'turnComplete',
  ];
};

const answers: Answers = {
  configureSession: [{ engine: 'mock' }, 'error'],
  resumeSession: [{}, 'error'],
  createAgent: [{ graphJson: JSON.stringify(chat()) }, 'createAgent'],
  sendMessage: [{ agentId: 1, text: 'hello' }, 'turnComplete'],
  cancelTurn: [{ agentId: 1 }, 'ack'],
  submitToolResults: [{ agentId: 1 }, 'error'],
  changeParams: [{ agentId: 1, nodeName: 'answer', paramsJson: '{}' }, 'ack'],
  exportDialog: [{ agentId: 1 }, 'exportDialog'],
  clearDialog: [{ agentId: 1 }, 'ack'],
  listModels: [{}, 'listModels'],
  downloadModel: [{ modelName: 'gone' }, 'error'],
  cancelDownload: [{ modelName: 'gone' }, 'ack'],
  loadModel: [{ modelName: 'moody' }, 'loadModel'],
  unloadModel: [{ modelName: 'moody' }, 'ack'],
  deleteModel: [{ modelName: 'gone' }, 'error'],
  createStringStorage: [{ name: 'x', strings: ['y'] }, 'createStringStorage'],
  destroyStringStorage: [{ name: 'x' }, 'ack'],
  destroyAgent: [{ agentId: 1 }, 'ack'],
};

describe.each(subprotocols)('over %s', (subprotocol) => {
  it('every message of the proto gets exactly one final answer', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    await client.createAgent(chat());
    for (const [body, [fields, answer]] of Object.entries(answers)) {
      expect(await client.request(body as keyof ClientFrameBodies, fields), body).toMatchObject({ body: answer });
    }
    const finals = client.received.filter(
      ({ requestId, body }) => requestId > 0 && !['answerText', 'modelProgress'].includes(body),
    );
    expect(finals.map(({ requestId }) => requestId)).toEqual([...new Set(finals.map(({ requestId }) => requestId))]);
  });
});
