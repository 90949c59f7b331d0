import { describe, expect, it } from 'vitest';
import { connect, type AgentHandle, type Client } from '../../../src/client/index.ts';
import type { ClientFrameBodies } from '../../../src/protocol/frames.gen.ts';
import { serverCodecs } from '../../../src/protocol/codec/codec.ts';
import { requestFrame } from '../../../src/protocol/codec/json.ts';
import { codecs } from '../../helpers/depth.ts';
import {
  acceptAgents,
  connectToFakeServer,
  createTestAgent,
  startFakeServer,
  type ResponseScript,
  useCleanups,
} from '../../helpers/fakeServer.ts';

useCleanups();

const answerAll: ResponseScript = (frame, send, socket) => {
  if (frame.body === 'sendMessage') send('turnComplete', { status: 'SUCCESS' });
  else if (frame.body === 'configureSession') send('configureSession');
  else if (frame.body === 'createStringStorage') send('createStringStorage');
  else if (frame.body === 'loadModel') send('loadModel');
  else if (frame.body === 'downloadModel') send('downloadModel');
  else if (frame.body === 'createAgent') acceptAgents(frame, send, socket);
  else send('ack');
};

class Instance {
  readonly hour = '9';
}

interface Misuse {
  readonly message: string;
  readonly call: (client: Client, agent: AgentHandle) => PromiseLike<unknown>;
}

const cyclic: Record<string, unknown> = {};
cyclic['self'] = cyclic;
const nested = (): object => {
  let graph: object = {};
  for (let depth = 0; depth < 100_000; depth++) graph = { graph };
  return graph;
};

// TypeScript refuses each line that follows @ts-expect-error: `tsc -p tsconfig.json` fails when it does not.
const misuses: readonly Misuse[] = [
  {
    message: 'sendMessage.variables.hour must be a string, not 9',
    // @ts-expect-error: a number
    call: (_, agent) => agent.send('hi', { variables: { hour: 9 } }),
  },
  {
    message: 'sendMessage.text must be a string, not 5',
    // @ts-expect-error: a number
    call: (_, agent) => agent.send(5),
  },
  {
    message: 'sendMessage.text must be a string, not null',
    // @ts-expect-error: null
    call: (_, agent) => agent.send(null),
  },
  {
    message: 'sendMessage.text must be a string, not undefined',
    // @ts-expect-error: no text
    call: (_, agent) => agent.send(),
  },
  {
    message: 'sendMessage.text must be a string, not a list',
    // @ts-expect-error: a list
    call: (_, agent) => agent.send(['hi']),
  },
  {
    message: 'sendMessage.text must be a string, not a function',
    // @ts-expect-error: a function
    call: (_, agent) => agent.send(() => 'hi'),
  },
  {
    message: 'sendMessage.text must not hold half of a surrogate pair',
    call: (_, agent) => agent.send('\ud83d'),
  },
  {
    message: 'send.varables is not known here; did you mean "variables"?',
    // @ts-expect-error: misspelt
    call: (_, agent) => agent.send('hi', { varables: {} }),
  },
  {
    message: 'send.timeoutMs is not known here',
    // @ts-expect-error: a turn has a signal
    call: (_, agent) => agent.send('hi', { timeoutMs: 5 }),
  },
  {
    message: 'the options of send must be an object, not "loud"',
    // @ts-expect-error: no options
    call: (_, agent) => agent.send('hi', 'loud'),
  },
  {
    message: 'the options of send must be an object, not null',
    // @ts-expect-error: null
    call: (_, agent) => agent.send('hi', null),
  },
  {
    message: 'sendMessage.variables must be an object, not a list',
    // @ts-expect-error: a list
    call: (_, agent) => agent.send('hi', { variables: [['hour', '9']] }),
  },
  {
    message: 'sendMessage.variables must be a plain object, not an instance of Map',
    // @ts-expect-error: a Map
    call: (_, agent) => agent.send('hi', { variables: new Map([['hour', '9']]) }),
  },
  {
    message: 'sendMessage.variables must be an object, not null',
    // @ts-expect-error: null
    call: (_, agent) => agent.send('hi', { variables: null }),
  },
  {
    message: 'sendMessage.variables.hour must be a string, not null',
    // @ts-expect-error: null
    call: (_, agent) => agent.send('hi', { variables: { hour: null } }),
  },
  {
    message: 'sendMessage.variables.mood must not hold half of a surrogate pair',
    call: (_, agent) => agent.send('hi', { variables: { mood: '\ude00' } }),
  },
  {
    message: 'send.onText must be a function, not true',
    // @ts-expect-error: no function
    call: (_, agent) => agent.send('hi', { onText: true }),
  },
  {
    message: 'send.signal must be an AbortSignal, not an instance of AbortController',
    // @ts-expect-error: the controller, not its signal
    call: (_, agent) => agent.send('hi', { signal: new AbortController() }),
  },
  {
    message: 'send.tools.set_light must be a function, not an object',
    // @ts-expect-error: a tool of an executor, without the executor
    call: (_, agent) => agent.send('hi', { tools: { set_light: { run: () => {} } } }),
  },
  {
    message: 'createAgent.graphname is not known here; did you mean "graphName"?',
    // @ts-expect-error: misspelt
    call: (client) => client.createAgent({ graphname: 'chat' }),
  },
  {
    message: 'createAgent.onprogress is not known here; did you mean "onProgress"?',
    // @ts-expect-error: misspelt
    call: (client) => client.createAgent({ graphName: 'chat', onprogress: () => {} }),
  },
  {
    message: 'the options of createAgent must be an object, not "chat"',
    // @ts-expect-error: no options
    call: (client) => client.createAgent('chat'),
  },
  {
    message: 'the options of createAgent must be an object, not undefined',
    // @ts-expect-error: no options
    call: (client) => client.createAgent(),
  },
  {
    message: 'createAgent.graphName must be a string, not 7',
    // @ts-expect-error: a number
    call: (client) => client.createAgent({ graphName: 7 }),
  },
  {
    message: 'createAgent.graph must be an object or JSON text, not 7',
    // @ts-expect-error: a number
    call: (client) => client.createAgent({ graph: 7 }),
  },
  {
    message: 'createAgent.graph must be an object or JSON text, not null',
    // @ts-expect-error: null
    call: (client) => client.createAgent({ graph: null }),
  },
  {
    message: 'createAgent.graph.nodes.answer.params must be a plain object, not an instance of Map',
    call: (client) => client.createAgent({ graph: { nodes: { answer: { params: new Map() } } } }),
  },
  {
    message: 'createAgent.graph.nodes[1].limit must be a finite number, not NaN',
    call: (client) => client.createAgent({ graph: { start: { a: { b: 1 } }, nodes: [{ limit: 1 }, { limit: NaN }] } }),
  },
  {
    message: 'createAgent.graph.seed must be a JSON value, not 9n',
    call: (client) => client.createAgent({ graph: { seed: 9n } }),
  },
  {
    message: 'createAgent.graph.text must not hold half of a surrogate pair',
    call: (client) => client.createAgent({ graph: { text: '\ud83d' } }),
  },
  {
    message: 'createAgent.graph cannot be written as JSON: Converting circular structure to JSON',
    call: (client) => client.createAgent({ graph: cyclic }),
  },
  {
    message: 'createAgent.graph nests too deeply',
    call: (client) => client.createAgent({ graph: nested() }),
  },
  {
    message: 'createAgent.history is empty: leave it out, or give "[]"',
    call: (client) => client.createAgent({ graphName: 'chat', history: '' }),
  },
  {
    message: 'createAgent.history must be a list or JSON text, not null',
    // @ts-expect-error: null
    call: (client) => client.createAgent({ graphName: 'chat', history: null }),
  },
  {
    message: 'createAgent.history must be a list or JSON text, not an object',
    // @ts-expect-error: an object
    call: (client) => client.createAgent({ graphName: 'chat', history: { user: 'hi' } }),
  },
  {
    message: 'createAgent.history[0] must be a JSON value, not undefined',
    // @ts-expect-error: a hole
    call: (client) => client.createAgent({ graphName: 'chat', history: [undefined] }),
  },
  {
    message: 'createAgent.warmUp must be true or false, not 1',
    // @ts-expect-error: a number
    call: (client) => client.createAgent({ graphName: 'chat', warmUp: 1 }),
  },
  ...[-1, 1.5, 2 ** 32, NaN, Infinity].map((count) => ({
    message: `createAgent.maxStepsPerTurn must be a whole number from 0 to 4294967295, not ${count}`,
    call: (client: Client) => client.createAgent({ graphName: 'chat', maxStepsPerTurn: count }),
  })),
  {
    message: 'createAgent.maxStepsPerTurn must be a whole number from 0 to 4294967295, not "3"',
    // @ts-expect-error: a text
    call: (client) => client.createAgent({ graphName: 'chat', maxStepsPerTurn: '3' }),
  },
  ...[-1, NaN, Infinity, 2 ** 31].map((timeoutMs) => ({
    message: `createAgent.timeoutMs must be a number of milliseconds from 0 to 2147483647, not ${timeoutMs}`,
    call: (client: Client) => client.createAgent({ graphName: 'chat', timeoutMs }),
  })),
  {
    message: 'changeParams.nodeName must be a string, not undefined',
    // @ts-expect-error: no name
    call: (_, agent) => agent.changeParams(undefined, {}),
  },
  {
    message: 'changeParams.params must be an object, not undefined',
    // @ts-expect-error: no parameters
    call: (_, agent) => agent.changeParams('answer'),
  },
  {
    message: 'changeParams.params must be an object, not a list',
    call: (_, agent) => agent.changeParams('answer', []),
  },
  {
    // JSON.stringify would write null, which restores the default.
    message: 'changeParams.params.sampling.temperature must be a finite number, not NaN',
    call: (_, agent) => agent.changeParams('answer', { sampling: { temperature: Number('warm') } }),
  },
  {
    message: 'submitToolResults.results must be a list, not an object',
    // @ts-expect-error: a single result
    call: (_, agent) => agent.submitToolResults({ callId: 'a', content: 'b' }),
  },
  {
    message: 'submitToolResults.results[0].content must be a string, not an object',
    // @ts-expect-error: an object
    call: (_, agent) => agent.submitToolResults([{ callId: 'a', content: { city: 'Oslo' } }]),
  },
  {
    message: 'submitToolResults.results[0] must be an object, not null',
    // @ts-expect-error: null
    call: (_, agent) => agent.submitToolResults([null]),
  },
  {
    message: 'submitToolResults.turnID is not known here; did you mean "turnId"?',
    // @ts-expect-error: misspelt
    call: (_, agent) => agent.submitToolResults([], { turnID: 1 }),
  },
  {
    message: 'appendDialog.asistant is not known here; did you mean "assistant"?',
    // @ts-expect-error: misspelt
    call: (_, agent) => agent.appendDialog({ user: 'hi', asistant: 'hello' }),
  },
  {
    message: 'appendDialog.user must be a string, not 5',
    // @ts-expect-error: a number
    call: (_, agent) => agent.appendDialog({ user: 5 }),
  },
  {
    message: 'appendText.text must be a string, not 5',
    // @ts-expect-error: a number
    call: (_, agent) => agent.appendText(5),
  },
  {
    message: 'appendText.notfy is not known here; did you mean "notify"?',
    // @ts-expect-error: misspelt
    call: (_, agent) => agent.appendText('hi', { notfy: true }),
  },
  {
    message: 'setAgentMode.mode must be a string, not undefined',
    // @ts-expect-error: missing
    call: (_, agent) => agent.setAgentMode(),
  },
  {
    message: 'setVariables.variables must be an object, not a list',
    call: (_, agent) => agent.setVariables(['hp']),
  },
  {
    message: 'setVariables.variables.hp must be a finite number, not NaN',
    call: (_, agent) => agent.setVariables({ hp: NaN }),
  },
  {
    message: 'setPace.pause is not known here; did you mean "paused"?',
    // @ts-expect-error: misspelt
    call: (client) => client.setPace({ pause: true }),
  },
  {
    message: 'setPace.maxTokensPerSecond must be a whole number from 0 to 4294967295, not 0.5',
    call: (client) => client.setPace({ maxTokensPerSecond: 0.5 }),
  },
  {
    message: 'sendMessage.priority must be one of NORMAL, BACKGROUND, URGENT, not "HIGH"',
    // @ts-expect-error: no priority
    call: async (_, agent) => void (await agent.send('hi', { priority: 'HIGH' })),
  },
  {
    message: 'configureSession.storageFolder is not known here; did you mean "storageDataFolder"?',
    // @ts-expect-error: misspelt
    call: (client) => client.configure({ storageFolder: 'brunhild' }),
  },
  {
    message: 'configureSession must be a plain object, not an instance of Instance',
    // @ts-expect-error: an instance of a class
    call: (client) => client.configure(new Instance()),
  },
  {
    message: 'configureSession.allowAutoModelDownloading must be true or false, not "yes"',
    // @ts-expect-error: a text
    call: (client) => client.configure({ allowAutoModelDownloading: 'yes' }),
  },
  {
    message: 'createStringStorage.strings[1] must be a string, not 2',
    // @ts-expect-error: a number
    call: (client) => client.request('createStringStorage', { name: 'insults', strings: ['fool', 2] }),
  },
  {
    message: 'createStringStorage.strings[0] must be a string, not undefined',
    // oxlint-disable-next-line no-sparse-arrays
    call: (client) => client.request('createStringStorage', { strings: [, 'fool'] as unknown as readonly string[] }),
  },
  {
    message: 'createStringStorage.strings must be a list, not "fool"',
    // @ts-expect-error: a text
    call: (client) => client.request('createStringStorage', { strings: 'fool' }),
  },
  {
    message: 'createStringStorage.kind must be one of LIST, MAP, MULTIMAP, KNOWLEDGE, not "LST"; did you mean "LIST"?',
    // @ts-expect-error: misspelt
    call: (client) => client.request('createStringStorage', { kind: 'LST' }),
  },
  {
    message: 'submitToolResults.results[0].ok must be true or false, not "yes"',
    // @ts-expect-error: a text
    call: (client) => client.request('submitToolResults', { results: [{ callId: 'a', ok: 'yes' }] }),
  },
  {
    message: 'submitToolResults.results[0].output is not known here',
    // @ts-expect-error: not a field
    call: (client) => client.request('submitToolResults', { results: [{ output: '' }] }),
  },
  {
    message: 'listModels must be an object, not null',
    // @ts-expect-error: null
    call: (client) => client.request('listModels', null),
  },
  {
    message: 'request.timeout is not known here; did you mean "timeoutMs"?',
    // @ts-expect-error: misspelt
    call: (client) => client.request('listModels', {}, { timeout: 5 }),
  },
  {
    message: 'loadModel.modelName must be a string, not undefined',
    // @ts-expect-error: no name
    call: (client) => client.loadModel(),
  },
  {
    message: 'loadModel.onprogress is not known here; did you mean "onProgress"?',
    // @ts-expect-error: misspelt
    call: (client) => client.loadModel('tiny', { onprogress: () => {} }),
  },
  {
    message: 'downloadModel.modelName must be a string, not 5',
    // @ts-expect-error: a number
    call: (client) => client.downloadModel(5),
  },
  {
    message: 'downloadModel.onProgress must be a function, not an object',
    // @ts-expect-error: an object
    call: (client) => client.downloadModel('tiny', { onProgress: {} }),
  },
  ...(['unloadModel', 'cancelDownload', 'deleteModel'] as const).map((method) => ({
    message: `${method}.modelName must be a string, not 5`,
    // @ts-expect-error: a number
    call: (client: Client) => client[method](5),
  })),
];

describe.each(codecs)('a client over %s', (codec) => {
  it.each(misuses)('refuses before it sends: $message', async ({ message, call }) => {
    const { client, received } = await connectToFakeServer(answerAll, { codec });
    const agent = await createTestAgent(client);
    const before = received.length;
    let pending: PromiseLike<unknown> | undefined;
    expect(() => (pending = call(client, agent))).not.toThrow();
    await expect(pending).rejects.toMatchObject({ code: 5001, name: 'MALFORMED_MESSAGE', message });
    expect(received).toHaveLength(before);
    // The connection and the agent are usable, and nothing waits.
    await agent.send('hello', { variables: { hour: '9' } });
    expect(received.at(-1)).toMatchObject({ sendMessage: { text: 'hello', variables: { hour: '9' } } });
  });

  it('refuses a request that the protocol does not have', async () => {
    const { client, received } = await connectToFakeServer(answerAll, { codec });
    // @ts-expect-error: misspelt
    await expect(client.request('listModel', {})).rejects.toMatchObject({
      code: 5002,
      message: '"listModel" is no message of this protocol; did you mean "listModels"?',
    });
    expect(received).toEqual([]);
  });

  it('ends the streams of a turn that it refuses', async () => {
    const { client } = await connectToFakeServer(answerAll, { codec });
    const agent = await createTestAgent(client);
    // @ts-expect-error: a number
    const turn = agent.send(5);
    await expect(async () => {
      for await (const piece of turn.text) expect(piece).toBe('');
    }).rejects.toThrow('sendMessage.text must be a string');
    turn.cancel();
    await agent.send('hello');
  });

  it('takes undefined as absent, and objects without a prototype', async () => {
    const { client, received } = await connectToFakeServer(answerAll, { codec });
    const absent = { graphName: undefined, maxStepsPerTurn: undefined, signal: undefined, onProgress: undefined };
    const options = {
      ...absent,
      graph: { nodes: {}, start_node: undefined },
      history: [{ user: 'a', mark: undefined }],
    };
    // exactOptionalPropertyTypes refuses undefined; JavaScript does not.
    const agent = await client.createAgent(options as unknown as { readonly graph: object });
    const variables = Object.assign(Object.create(null) as Record<string, string>, { a: 'b', c: undefined });
    await agent.send('hi', { variables, onText: undefined } as unknown as { readonly variables: typeof variables });
    expect(received).toMatchObject([
      { createAgent: { graphJson: '{"nodes":{}}', historyJson: '[{"user":"a"}]', maxStepsPerTurn: 0 } },
      { sendMessage: { variables: { a: 'b' } } },
    ]);
    expect(Object.keys(received[1]?.body === 'sendMessage' ? received[1].sendMessage.variables : {})).toEqual(['a']);
  });

  it('takes a document in the forms that JSON has', async () => {
    const { client, received } = await connectToFakeServer(answerAll, { codec });
    const graph = { a: [1, -0.5, true, null, 'x'], when: new Date(0), own: new Instance() };
    await client.createAgent({ graph });
    await client.request('createAgent', { graphJson: '{}', historyJson: '[]' });
    expect(received).toMatchObject([
      { createAgent: { graphJson: JSON.stringify(graph) } },
      { createAgent: { graphJson: '{}', historyJson: '[]' } },
    ]);
  });
});

describe('connect', () => {
  const refusals: readonly (readonly [string, (url: string) => Promise<Client>])[] = [
    [
      'connect.tokn is not known here; did you mean "token"?',
      // @ts-expect-error: misspelt
      (url) => connect(url, { tokn: 'secret' }),
    ],
    [
      'connect.codec must be "proto" or "json", not "protobuf"',
      // @ts-expect-error: no codec
      (url) => connect(url, { codec: 'protobuf' }),
    ],
    [
      'connect.token has a line break or another control character; remove it',
      (url) => connect(url, { token: 'secret\n' }),
    ],
    [
      'connect.token must be a string, not 5',
      // @ts-expect-error: a number
      (url) => connect(url, { token: 5 }),
    ],
    [
      'connect.timeoutMs must be a number of milliseconds from 0 to 2147483647, not "5 s"',
      // @ts-expect-error: a text
      (url) => connect(url, { timeoutMs: '5 s' }),
    ],
    [
      'the options of connect must be an object, not "secret"',
      // @ts-expect-error: no options
      (url) => connect(url, 'secret'),
    ],
    [
      'connect.reconnect must be a boolean or an object, not "always"',
      // @ts-expect-error: a text
      (url) => connect(url, { reconnect: 'always' }),
    ],
    [
      'connect.reconnect.maxDelay is not known here; did you mean "maxDelayMs"?',
      // @ts-expect-error: misspelt
      (url) => connect(url, { reconnect: { maxDelay: 5 } }),
    ],
    [
      'connect.reconnect.timeLimitMs must be a number of milliseconds from 0 to 2147483647, not -1',
      (url) => connect(url, { reconnect: { timeLimitMs: -1 } }),
    ],
    [
      'connect.onConnectionChange must be a function, not true',
      // @ts-expect-error: a boolean
      (url) => connect(url, { onConnectionChange: true }),
    ],
    [
      'connect.WebSocket must be a class, not an object',
      // @ts-expect-error: no class
      (url) => connect(url, { WebSocket: {} }),
    ],
  ];

  it.each(refusals)('refuses before it connects: %s', async (message, call) => {
    const { url, handshakes } = await startFakeServer();
    await expect(call(url)).rejects.toMatchObject({ code: 5001, message });
    expect(handshakes).toEqual([]);
  });
});

describe('a frame of a request', () => {
  const decode = (body: string, fields: unknown) =>
    serverCodecs['turngraph.v1.json'].decode(JSON.stringify({ requestId: 7, [body]: fields }));
  const wrong: readonly (readonly [keyof ClientFrameBodies, unknown])[] = [
    ['sendMessage', { agentId: '1' }],
    ['sendMessage', { text: 5 }],
    ['sendMessage', { txt: 'hi' }],
    ['sendMessage', { variables: { hour: 9 } }],
    ['sendMessage', { variables: ['hour'] }],
    ['sendMessage', { priority: 'urgent' }],
    ['setPace', { paused: 1 }],
    ['setPace', { maxThreads: -1 }],
    ['sendMessage', 5],
    ['createAgent', { graph: {}, graphJson: '{}' }],
    ['createAgent', { graphName: 'chat', graphJson: '{}' }],
    ['createStringStorage', { kind: 'SET' }],
    ['createStringStorage', { keys: 'a' }],
    ['submitToolResults', { results: [{ lifespan: 'turn' }] }],
    ['submitToolResults', { results: [5] }],
  ];

  it.each(wrong)('is refused with the sentence of a server that reads it as JSON: %s %o', (body, fields) => {
    const decoded = decode(body, fields);
    if (decoded.ok) throw new Error('expected a fault');
    expect(() => requestFrame(7, body, fields)).toThrow(
      expect.objectContaining({ code: 5001, message: decoded.fault.message }) as Error,
    );
  });

  it('is the frame that a server reads', () => {
    const fields = { graph: { nodes: {} }, history: [], maxStepsPerTurn: 3, enableDiagnostics: true };
    expect({ ok: true, frame: requestFrame(7, 'createAgent', fields) }).toEqual(decode('createAgent', fields));
  });
});
