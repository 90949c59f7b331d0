import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { DownloadOptions } from '../../src/inference/download/downloads.ts';
import { codes, type ClientFrameBodies, type CodeName, type ServerFrame } from '../../src/protocol/frames.gen.ts';
import { defineNode } from '../../src/index.ts';
import type { Subprotocol } from '../../src/protocol/codec/codec.ts';
import { chat, lamp } from '../helpers/graphs.ts';
import { startHubServer, tinyFile, type HubFixture } from '../helpers/hubFixture.ts';
import { Gate } from '../helpers/gate.ts';
import { oneDayMs } from '../helpers/heldEngine.ts';
import { demoWithTemplate } from '../model/demoTemplate.ts';
import { useServer, TestClient, startTestServer, subprotocols } from '../helpers/server.ts';

/** Errors that only a client raises, and those of features that this version of the server does not have. */
type NotFromServer = 'CONNECTION_FAILED' | 'CONNECTION_DROPPED' | 'TIMEOUT' | 'UNAUTHORIZED' | 'ENGINE_CRASHED';

/** How each error is provoked; returns the error that the client receives. The type makes this list complete. */
type Provocations = {
  readonly [Name in Exclude<CodeName, NotFromServer>]: (
    client: TestClient,
    subprotocol: Subprotocol,
  ) => Promise<ReceivedError>;
};

interface ReceivedError {
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
  await writeFile(join(folder, 'raising.gguf'), await demoWithTemplate(raisingTemplate));
  const model = (name: string) => ({
    name,
    variants: [{ engine: 'llama-cpp', local_path: '.', files: [`${name}.gguf`], context_size: 256 }],
  });
  await writeFile(
    join(folder, 'models.json'),
    JSON.stringify({ models: [model('text'), model('missing'), model('raising')] }),
  );
});
afterAll(() => rm(folder, { recursive: true }));

// Raises an error for one word, as templates of real families do for input that they do not support.
const raisingTemplate =
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
function errorOf(frame: ServerFrame): ReceivedError {
  if (frame.body === 'error') return frame.error;
  if (frame.body === 'turnComplete' && frame.turnComplete.error) return frame.turnComplete.error;
  throw new Error(`no error in ${JSON.stringify(frame)}`);
}

const requestError =
  <K extends keyof ClientFrameBodies>(body: K, fields: Partial<ClientFrameBodies[K]>) =>
  async (client: TestClient): Promise<ReceivedError> =>
    errorOf(await client.request(body, fields));

const graphError = (graph: object) => requestError('createAgent', { graphJson: JSON.stringify(graph) });

const turnError =
  (graph: object, text: string, fields: Partial<ClientFrameBodies['createAgent']> = {}) =>
  async (client: TestClient) => {
    const agentId = await client.createAgent(graph, fields);
    return errorOf(await client.request('sendMessage', { agentId, text }));
  };

const paramError = (nodeName: string, params: object) => async (client: TestClient) =>
  errorOf(
    await client.request('changeParams', {
      agentId: await client.createAgent(lamp()),
      nodeName,
      paramsJson: JSON.stringify(params),
    }),
  );

const storageError = (fields: Partial<ClientFrameBodies['createStringStorage']>) => async (client: TestClient) => {
  await client.request('createStringStorage', { name: 'taken', strings: ['x'] });
  return errorOf(await client.request('createStringStorage', { name: 'lines', kind: 'LIST', ...fields }));
};

/** An error that answers no request. */
const unsolicitedError = async (client: TestClient): Promise<ReceivedError> =>
  errorOf(await client.waitFor(({ body }) => body === 'error'));

/** The error that a client of a server with a hub receives. */
const fromHub =
  (
    provoke: (client: TestClient, fixture: HubFixture) => Promise<ReceivedError>,
    downloadOptions: DownloadOptions = {},
  ) =>
  async (_: TestClient, subprotocol: Subprotocol): Promise<ReceivedError> => {
    await using fixture = await startHubServer({ downloadOptions });
    await using client = await fixture.connect(subprotocol, 'llama-cpp');
    return await provoke(client, fixture);
  };

const download = requestError('downloadModel', { modelName: 'Tiny' });

/** Begins a download that stalls. */
async function stalledDownload(client: TestClient, { hub }: HubFixture): Promise<number> {
  hub.faults.store.push({ kind: 'stall', after: 65_536 });
  const requestId = client.send('downloadModel', { modelName: 'Tiny' });
  await client.receive('modelProgress');
  return requestId;
}

const loopingNode = (next: string) => ({
  type: 'CannedResponse',
  params: { inline_strings: ['x'] },
  exits: { default: next },
});

const provocations: Provocations = {
  SERVER_SHUTTING_DOWN: async (_, subprotocol) => {
    const gate = new Gate();
    const closing = await startTestServer({ graceMs: oneDayMs, script: [{ match: 'slowly', answer: 'a b c', gate }] });
    await using client = await TestClient.connect(closing.url, subprotocol);
    const agentId = await client.createAgent(chat());
    client.send('sendMessage', { agentId, text: 'slowly' });
    await client.receive('answerText');
    const disposal = closing[Symbol.asyncDispose]();
    const error = errorOf(await client.request('createAgent', { graphJson: JSON.stringify(chat()) }));
    gate.open();
    await disposal;
    return error;
  },
  SESSION_NOT_RESUMABLE: requestError('resumeSession', { sessionId: 'x', resumeToken: 'y' }),
  LIMIT_EXCEEDED: async (client) => {
    await client.createAgent(chat());
    await client.createAgent(chat());
    return graphError(chat())(client);
  },
  INVALID_AGENT_ID: requestError('sendMessage', { agentId: 9 }),
  AGENT_ALREADY_DESTROYED: async (client) => {
    const agentId = await client.createAgent(chat());
    await client.request('destroyAgent', { agentId });
    return requestError('clearDialog', { agentId })(client);
  },
  GRAPH_COMPILATION_FAILED: graphError({ start_node: 'a', nodes: {} }),
  AGENT_BUSY: async (client) => {
    const agentId = await client.createAgent(chat());
    client.send('sendMessage', { agentId, text: 'slowly' });
    return requestError('sendMessage', { agentId, text: 'more' })(client);
  },
  UNKNOWN_NODE: paramError('unknown', {}),
  PARAM_NOT_MUTABLE: paramError('detect', { tool_call_format: 'llama3' }),
  INVALID_PARAM_VALUE: paramError('detect', { notify_client: 3 }),
  INVALID_EXIT_TARGET: graphError({ start_node: 'a', nodes: { a: { type: 'Generate', exits: { default: 'b' } } } }),
  STORAGE_OUTSIDE_ROOT: storageError({ filePath: 'link.txt' }),
  STORAGE_FILE_NOT_FOUND: storageError({ filePath: 'nowhere.txt' }),
  STORAGE_KIND_MISMATCH: storageError({ filePath: 'lines.txt', kind: 'MAP' }),
  NO_RESULTS_AWAITED: async (client) => {
    const agentId = await client.createAgent(chat());
    return requestError('submitToolResults', { agentId })(client);
  },
  INFERENCE_FAILED: async (_, subprotocol) => {
    await using client = await TestClient.connect(server().url, subprotocol, 'llama-cpp');
    return await turnError(chat({ model_name: 'raising' }), 'boom')(client);
  },
  INFERENCE_TIMEOUT: async (_, subprotocol) => {
    const script = [{ match: 'slowly', answer: 'one two', gate: new Gate() }];
    await using impatient = await startTestServer({ turnTimeout: 0.1, script });
    await using client = await TestClient.connect(impatient.url, subprotocol);
    return await turnError(chat(), 'slowly')(client);
  },
  MAX_STEPS_EXCEEDED: turnError({ start_node: 'a', nodes: { a: loopingNode('b'), b: loopingNode('a') } }, 'go', {
    maxStepsPerTurn: 3,
  }),
  PROMPT_TOO_LARGE: turnError(chat(), 'x'.repeat(60_000)),
  MALFORMED_MESSAGE: async (client, subprotocol) => {
    client.socket.send(
      subprotocol === 'turngraph.v1.json'
        ? '{"requestId": 1, "sendMessage": {"agentId": "one"}}'
        : Buffer.from([0x0a, 0xff]),
    );
    return unsolicitedError(client);
  },
  UNKNOWN_MESSAGE_TYPE: async (client, subprotocol) => {
    client.socket.send(
      subprotocol === 'turngraph.v1.json' ? '{"requestId": 1, "sendMesage": {}}' : Buffer.from([0xf2, 0x03, 0x00]),
    );
    return unsolicitedError(client);
  },
  FRAME_TOO_LARGE: async (client) => {
    client.socket.send(Buffer.alloc(1024 * 1024 + 1));
    return unsolicitedError(client);
  },
  PROTOCOL_VERSION_MISMATCH: async () => {
    const socket = new WebSocket(server().url, ['turngraph.v2.proto']);
    const text = await new Promise<string>((resolve) =>
      socket.on('message', (data: Buffer) => resolve(data.toString())),
    );
    return (JSON.parse(text) as { error: ReceivedError }).error;
  },
  INTERNAL: turnError({ start_node: 'a', nodes: { a: { type: 'Broken' } } }, 'go'),
  UNKNOWN_MODEL: graphError(chat({ model_name: 'unknown' })),
  MODEL_NOT_ON_DISK: async (_, subprotocol) => {
    await using client = await TestClient.connect(server().url, subprotocol, 'llama-cpp');
    return await requestError('loadModel', { modelName: 'missing' })(client);
  },
  MODEL_LOAD_FAILED: async (_, subprotocol) => {
    await using client = await TestClient.connect(server().url, subprotocol, 'llama-cpp');
    return await requestError('loadModel', { modelName: 'text' })(client);
  },
  DOWNLOAD_FAILED: fromHub((client, { hub }) => {
    hub.gated.add('ann/tiny');
    return download(client);
  }),
  DOWNLOAD_NOT_AVAILABLE: fromHub(download, { env: { HF_HUB_OFFLINE: '1' } }),
  INSUFFICIENT_DISK_SPACE: fromHub(download, { freeBytes: async () => 0 }),
  DOWNLOAD_ALREADY_ACTIVE: fromHub(async (client, fixture) => {
    await stalledDownload(client, fixture);
    return download(client);
  }),
  CHECKSUM_MISMATCH: fromHub((client, { hub }) => {
    hub.files.set('ann/tiny/model.gguf', { content: tinyFile, linkedEtag: 'f'.repeat(64) });
    return download(client);
  }),
  MODEL_AUTO_DOWNLOAD_FAILED: fromHub(async (client, { hub }) => {
    hub.files.clear();
    await client.request('configureSession', { allowAutoModelDownloading: true });
    return graphError(chat({ model_name: 'Tiny' }))(client);
  }),
  MODEL_IN_USE: fromHub(async (client) => {
    await client.request('downloadModel', { modelName: 'Demo' });
    await client.createAgent(chat({ model_name: 'Demo' }));
    return requestError('deleteModel', { modelName: 'Demo' })(client);
  }),
  DOWNLOAD_CANCELLED: fromHub(async (client, fixture) => {
    const requestId = await stalledDownload(client, fixture);
    await client.request('cancelDownload', { modelName: 'Tiny' });
    return errorOf(await client.finalResponse(requestId));
  }),
  INVALID_STRING_STORAGE_NAME: storageError({ name: 'a/b' }),
  STRING_STORAGE_ALREADY_EXISTS: storageError({ name: 'taken' }),
  INVALID_STRING_STORAGE_DATA: storageError({ strings: ['a'], keys: ['b'] }),
  STORAGE_NAME_IN_USE: storageError({ name: 'lines.txt' }),
};

describe.each(subprotocols)('over %s', (subprotocol) => {
  it.each(Object.entries(provocations))('a client receives %s with its code and a sentence', async (name, provoke) => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const error = await provoke(client, subprotocol);
    expect(error).toMatchObject({ name, code: codes[name as CodeName] });
    expect(error.message.split(' ').length).toBeGreaterThan(3);
    expect(error.message).not.toContain('swordfish');
  });
});

it.each(['loadModel', 'unloadModel', 'downloadModel', 'cancelDownload', 'deleteModel'] as const)(
  '%s without a name is UNKNOWN_MODEL, also with the mock engine, which needs no names',
  async (body) => {
    await using client = await TestClient.connect(server().url, 'turngraph.v1.proto');
    expect(await requestError(body, {})(client)).toMatchObject({ name: 'UNKNOWN_MODEL' });
  },
);

/** Valid fields of every message, and the answer to them. The type makes this list complete. */
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
  appendDialog: [{ agentId: 1, user: 'hello' }, 'ack'],
  appendText: [{ agentId: 1, text: 'hello', notify: true }, 'ack'],
  setAgentMode: [{ agentId: 1, mode: 'AUTO' }, 'ack'],
  setVariables: [{ agentId: 1, variablesJson: '{"mood": "glad"}' }, 'ack'],
  setPace: [{ maxTokensPerSecond: 1000 }, 'ack'],
  reportFrame: [{ ms: 17, targetMs: 16.7 }, 'ack'],
  changeParams: [{ agentId: 1, nodeName: 'answer', paramsJson: '{}' }, 'ack'],
  exportDialog: [{ agentId: 1 }, 'exportDialog'],
  clearDialog: [{ agentId: 1 }, 'ack'],
  listModels: [{}, 'listModels'],
  suggestModels: [{}, 'suggestModels'],
  downloadModel: [{ modelName: 'missing' }, 'error'],
  cancelDownload: [{ modelName: 'missing' }, 'ack'],
  loadModel: [{ modelName: 'raising' }, 'loadModel'],
  unloadModel: [{ modelName: 'raising' }, 'ack'],
  deleteModel: [{ modelName: 'missing' }, 'error'],
  createStringStorage: [{ name: 'x', strings: ['y'] }, 'createStringStorage'],
  searchStorage: [{ name: 'x', query: 'y' }, 'searchStorage'],
  addKnowledge: [{ storage: 'x' }, 'error'],
  removeKnowledge: [{ storage: 'x' }, 'error'],
  exportStorage: [{ storage: 'x' }, 'error'],
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
