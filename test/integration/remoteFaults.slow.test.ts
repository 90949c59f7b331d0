import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { httpEngine } from '../../src/inference/remote/engine.ts';
import {
  characterEvent,
  choiceEvent,
  scriptedTemplate,
  sendError,
  startScriptedServer,
  writeEvent,
  type ScriptedServer,
  type ServerScript,
} from '../helpers/inference/scriptedServer.ts';
import { chat } from '../helpers/graphs.ts';
import { subprotocols, TestClient, useServer } from '../helpers/server.ts';

const key = 'never-to-be-seen';
const environment = { KEY_OF_THE_TEST: key };
// Long enough that a busy machine keeps them; the server of the test never answers in the cases that reach them.
const timeouts = { retryMs: 1, breakMs: 20, firstByteMs: 700, idleMs: 700 };

// The path of completions, and the event of one token.
const apis = {
  'llama-server': { path: '/completion', token: (character: string) => characterEvent(character, 1) },
  openai: { path: '/v1/completions', token: choiceEvent },
} as const;
type Api = keyof typeof apis;

let folder = '';
let remote: ScriptedServer;
beforeAll(async () => {
  remote = await startScriptedServer();
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  const served = {
    engine: 'http',
    base_url: remote.url,
    api_key_env: 'KEY_OF_THE_TEST',
    chat_template: 'template.jinja',
  };
  const models = Object.keys(apis).map((api) => ({ name: api, variants: [{ ...served, api }] }));
  await writeFile(join(folder, 'template.jinja'), scriptedTemplate);
  await writeFile(join(folder, 'models.json'), JSON.stringify({ models }));
});
afterEach(() => {
  remote.script = () => false;
});
afterAll(async () => {
  await remote[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const server = useServer({
  engines: { http: httpEngine({ environment, timeouts }) },
  get catalogue() {
    return join(folder, 'models.json');
  },
});

type Response = Parameters<ServerScript>[2];

const begin = (response: Response, api: Api): void => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  writeEvent(response, apis[api].token('Y'));
};

const cases: readonly (readonly [string, (response: Response, api: Api) => void, number, RegExp])[] = [
  [
    'refuses the key',
    (response) => sendError(response, 401, `Invalid API key: ${key}`),
    4001,
    /401: Invalid API key: \[API key\]/,
  ],
  [
    'asks to wait for an hour',
    (response) => sendError(response, 429, 'Slow down', { 'retry-after': '3600' }),
    4001,
    /status 429: Slow down/,
  ],
  ['has an internal error', (response) => sendError(response, 500, 'out of memory'), 4001, /status 500: out of memory/],
  [
    'breaks its event stream',
    (response, api) => {
      begin(response, api);
      response.end('data: {"content"\n\n');
    },
    4001,
    /event that is not JSON/,
  ],
  [
    'sends JSON without tokens',
    (response, api) => {
      begin(response, api);
      writeEvent(response, { text: 'es' });
    },
    4001,
    /no (?:content and tokens|choices)/,
  ],
  ['sends no head', () => undefined, 4001, /has not answered within 700 ms/],
  ['stalls in the middle', begin, 4001, /has stalled: no event has come for 700 ms/],
  [
    'is killed in the middle',
    (response, api) => {
      begin(response, api);
      setImmediate(() => response.destroy());
    },
    4005,
    /gone away in the middle/,
  ],
];

const routes = subprotocols.flatMap((subprotocol) =>
  (Object.keys(apis) as readonly Api[]).map((api) => [subprotocol, api] as const),
);

describe.each(routes)('over %s, a client of a model with the API %s', (subprotocol, api) => {
  it.each(cases)('sees why an inference server that %s failed, and its agent is usable', async (_, act, code, why) => {
    await using client = await TestClient.connect(server().url, subprotocol, 'llama-cpp');
    const agentId = await client.createAgent(chat({ model_name: api }));
    remote.script = (path, _nth, response) => {
      if (path !== apis[api].path) return false;
      act(response, api);
      return true;
    };
    expect(await client.sendMessage(agentId, 'Hello?')).toMatchObject({
      status: 'ERROR',
      error: { code, message: expect.stringMatching(why) as unknown },
    });
    expect(JSON.stringify(client.received)).not.toContain(key);
    remote.script = () => false;
    // The breaker may be open for a moment.
    await expect.poll(async () => (await client.sendMessage(agentId, 'Hello?')).text).toBe('Yes.');
  });
});
