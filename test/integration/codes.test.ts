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
import { hubServer, tinyFile, type HubServer } from '../helpers/hubFixture.ts';
import { Gate } from '../helpers/gate.ts';
import { aDay } from '../helpers/heldEngine.ts';
import { demoWithTemplate } from '../model/demoTemplate.ts';
import { aServer, Player, serverWith, subprotocols } from '../helpers/server.ts';

/** Errors that only a client sees, and those of what this version of the server does not do. */
type Elsewhere = 'CONNECTION_FAILED' | 'CONNECTION_DROPPED' | 'TIMEOUT' | 'UNAUTHORIZED' | 'ENGINE_CRASHED';

/** How one error is provoked: what the client hears of it. The type makes this list complete. */
type Provocations = {
  readonly [Name in Exclude<CodeName, Elsewhere>]: (player: Player, subprotocol: Subprotocol) => Promise<Heard>;
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

const server = aServer({
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
  async (player: Player): Promise<Heard> =>
    errorOf(await player.asks(body, fields));

const graphRefused = (graph: object) => refused('createAgent', { graphJson: JSON.stringify(graph) });

const turnFails =
  (graph: object, text: string, fields: Partial<ClientFrameBodies['createAgent']> = {}) =>
  async (player: Player) => {
    const agentId = await player.makes(graph, fields);
    return errorOf(await player.asks('sendMessage', { agentId, text }));
  };

const paramRefused = (nodeName: string, params: object) => async (player: Player) =>
  errorOf(
    await player.asks('changeParams', {
      agentId: await player.makes(lamp()),
      nodeName,
      paramsJson: JSON.stringify(params),
    }),
  );

const storageRefused = (fields: Partial<ClientFrameBodies['createStringStorage']>) => async (player: Player) => {
  await player.asks('createStringStorage', { name: 'taken', strings: ['x'] });
  return errorOf(await player.asks('createStringStorage', { name: 'lines', kind: 'LIST', ...fields }));
};

/** An error that comes unasked. */
const unasked = async (player: Player): Promise<Heard> => errorOf(await player.until(({ body }) => body === 'error'));

/** What a client hears whose server fetches its models from a hub. */
const fromHub =
  (provoke: (player: Player, home: HubServer) => Promise<Heard>, fetching: DownloadOptions = {}) =>
  async (_: Player, subprotocol: Subprotocol): Promise<Heard> => {
    await using home = await hubServer({ fetching });
    await using player = await home.player(subprotocol, 'llama-cpp');
    return await provoke(player, home);
  };

const download = refused('downloadModel', { modelName: 'Tiny' });

/** Begins a download that does not come to its end by itself. */
async function endlessDownload(player: Player, { hub }: HubServer): Promise<number> {
  hub.troubles.store.push({ kind: 'stall', after: 65_536 });
  const requestId = player.sends('downloadModel', { modelName: 'Tiny' });
  await player.hears('modelProgress');
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
    const leaving = await serverWith({ graceMs: aDay, script: [{ match: 'slowly', answer: 'a b c', gate }] });
    await using player = await Player.connect(leaving.url, subprotocol);
    const agentId = await player.makes(chat());
    player.sends('sendMessage', { agentId, text: 'slowly' });
    await player.hears('answerText');
    const gone = leaving[Symbol.asyncDispose]();
    const heard = errorOf(await player.asks('createAgent', { graphJson: JSON.stringify(chat()) }));
    gate.open();
    await gone;
    return heard;
  },
  SESSION_NOT_RESUMABLE: refused('resumeSession', { sessionId: 'x', resumeToken: 'y' }),
  LIMIT_EXCEEDED: async (player) => {
    await player.makes(chat());
    await player.makes(chat());
    return graphRefused(chat())(player);
  },
  INVALID_AGENT_ID: refused('sendMessage', { agentId: 9 }),
  AGENT_ALREADY_DESTROYED: async (player) => {
    const agentId = await player.makes(chat());
    await player.asks('destroyAgent', { agentId });
    return refused('clearDialog', { agentId })(player);
  },
  GRAPH_COMPILATION_FAILED: graphRefused({ start_node: 'a', nodes: {} }),
  AGENT_BUSY: async (player) => {
    const agentId = await player.makes(chat());
    player.sends('sendMessage', { agentId, text: 'slowly' });
    return refused('sendMessage', { agentId, text: 'more' })(player);
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
    await using player = await Player.connect(server().url, subprotocol, 'llama-cpp');
    return await turnFails(chat({ model_name: 'moody' }), 'boom')(player);
  },
  INFERENCE_TIMEOUT: async (_, subprotocol) => {
    const script = [{ match: 'slowly', answer: 'one two', gate: new Gate() }];
    await using hasty = await serverWith({ turnTimeout: 0.1, script });
    await using player = await Player.connect(hasty.url, subprotocol);
    return await turnFails(chat(), 'slowly')(player);
  },
  MAX_STEPS_EXCEEDED: turnFails({ start_node: 'a', nodes: { a: endless('b'), b: endless('a') } }, 'go', {
    maxStepsPerTurn: 3,
  }),
  PROMPT_TOO_LARGE: turnFails(chat(), 'x'.repeat(60_000)),
  MALFORMED_MESSAGE: async (player, subprotocol) => {
    player.socket.send(
      subprotocol === 'turngraph.v1.json'
        ? '{"requestId": 1, "sendMessage": {"agentId": "one"}}'
        : Buffer.from([0x0a, 0xff]),
    );
    return unasked(player);
  },
  UNKNOWN_MESSAGE_TYPE: async (player, subprotocol) => {
    player.socket.send(
      subprotocol === 'turngraph.v1.json' ? '{"requestId": 1, "sendMesage": {}}' : Buffer.from([0xf2, 0x03, 0x00]),
    );
    return unasked(player);
  },
  FRAME_TOO_LARGE: async (player) => {
    player.socket.send(Buffer.alloc(1024 * 1024 + 1));
    return unasked(player);
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
    await using player = await Player.connect(server().url, subprotocol, 'llama-cpp');
    return await refused('loadModel', { modelName: 'gone' })(player);
  },
  MODEL_LOAD_FAILED: async (_, subprotocol) => {
    await using player = await Player.connect(server().url, subprotocol, 'llama-cpp');
    return await refused('loadModel', { modelName: 'text' })(player);
  },
  DOWNLOAD_FAILED: fromHub((player, { hub }) => {
    hub.gated.add('ann/tiny');
    return download(player);
  }),
  DOWNLOAD_NOT_AVAILABLE: fromHub(download, { env: { HF_HUB_OFFLINE: '1' } }),
  INSUFFICIENT_DISK_SPACE: fromHub(download, { freeBytes: async () => 0 }),
  DOWNLOAD_ALREADY_ACTIVE: fromHub(async (player, home) => {
    await endlessDownload(player, home);
    return download(player);
  }),
  CHECKSUM_MISMATCH: fromHub((player, { hub }) => {
    hub.files.set('ann/tiny/model.gguf', { content: tinyFile, linkedTag: 'f'.repeat(64) });
    return download(player);
  }),
  MODEL_AUTO_DOWNLOAD_FAILED: fromHub(async (player, { hub }) => {
    hub.files.clear();
    await player.asks('configureSession', { allowAutoModelDownloading: true });
    return graphRefused(chat({ model_name: 'Tiny' }))(player);
  }),
  MODEL_IN_USE: fromHub(async (player) => {
    await player.asks('downloadModel', { modelName: 'Demo' });
    await player.makes(chat({ model_name: 'Demo' }));
    return refused('deleteModel', { modelName: 'Demo' })(player);
  }),
  DOWNLOAD_CANCELLED: fromHub(async (player, home) => {
    const requestId = await endlessDownload(player, home);
    await player.asks('cancelDownload', { modelName: 'Tiny' });
    return errorOf(await player.answer(requestId));
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
      await using player = await Player.connect(server().url, subprotocol);
      const heard = await provoke(player, subprotocol);
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
    await using player = await Player.connect(server().url, subprotocol);
    await player.makes(chat());
    for (const [body, [fields, answer]] of Object.entries(answers)) {
      expect(await player.asks(body as keyof ClientFrameBodies, fields), body).toMatchObject({ body: answer });
    }
    const finals = player.heard.filter(
      ({ requestId, body }) => requestId > 0 && !['answerText', 'modelProgress'].includes(body),
    );
    expect(finals.map(({ requestId }) => requestId)).toEqual([...new Set(finals.map(({ requestId }) => requestId))]);
  });
});
