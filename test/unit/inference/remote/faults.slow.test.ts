import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { httpEngine } from '../../../../src/inference/remote/engine.ts';
import type { RemoteTimeouts } from '../../../../src/inference/remote/connection/httpConnection.ts';
import type { Engine, Model, Sequence } from '../../../../src/inference/contract/engine.ts';
import { generate, userPrompt } from '../../../contracts/generation.ts';
import {
  characterEvent,
  sendError,
  startScriptedServer,
  writeEvent,
  type ScriptedServer,
  type ServerScript,
} from '../../../helpers/inference/scriptedServer.ts';

const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one[Symbol.asyncDispose]();
});

const keyName = 'KEY_OF_THE_TEST';
const key = 'never-to-be-seen';
const load = { contextSize: 0, slots: 0, threads: 0, gpu: 'off' } as const;

interface Opened {
  readonly servers: readonly ScriptedServer[];
  readonly engine: Engine;
  readonly model: Model;
  readonly sequence: Sequence;
}

async function open(count = 1, timeouts: Partial<RemoteTimeouts> = {}): Promise<Opened> {
  const servers: ScriptedServer[] = [];
  for (let index = 0; index < count; index++) servers.push(await startScriptedServer());
  const engine = httpEngine({
    timeouts: { retryMs: 1, breakMs: 50, ...timeouts },
    environment: { [keyName]: key },
    remote: {
      api: 'llama-server',
      baseUrls: servers.map(({ url }) => url),
      model: undefined,
      apiKeyEnv: keyName,
      templateFile: undefined,
    },
  });
  opened.push(...servers, engine);
  const model = await engine.load('', load);
  return { servers, engine, model, sequence: model.openSequence() };
}

const onCompletion =
  (script: (response: Parameters<ServerScript>[2], nth: number) => void, times = Infinity): ServerScript =>
  (path, nth, response) => {
    if (path !== '/completion' || nth > times) return false;
    script(response, nth);
    return true;
  };

const begin = (response: Parameters<ServerScript>[2]): void => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  writeEvent(response, characterEvent('Y', 1));
};

/** Comments without end, as servers send them to keep a connection open. */
function commentOn(response: Parameters<ServerScript>[2]): void {
  const timer = setInterval(() => response.write(': still here\n\n'), 50);
  response.on('close', () => clearInterval(timer));
}

describe('an inference server that fails', () => {
  it.each<[string, ServerScript, string, RegExp, Partial<RemoteTimeouts>?]>([
    [
      'refuses the key',
      onCompletion((response) => sendError(response, 401, 'Invalid API Key')),
      'INFERENCE_FAILED',
      /status 401: Invalid API Key; check the environment variable that api_key_env/,
    ],
    [
      'repeats the key in its error',
      onCompletion((response) => sendError(response, 401, `Incorrect API key provided: ${key}`)),
      'INFERENCE_FAILED',
      /status 401: Incorrect API key provided: \[API key\]/,
    ],
    [
      'repeats the key in an event',
      onCompletion((response) => {
        begin(response);
        writeEvent(response, { error: { message: `no quota is left for ${key}` } });
      }),
      'INFERENCE_FAILED',
      /no quota is left for \[API key\]/,
    ],
    [
      'repeats the key in an event that is no JSON',
      onCompletion((response) => {
        begin(response);
        response.end(`data: ${key} is not known\n\n`);
      }),
      'INFERENCE_FAILED',
      /event that is not JSON: \[API key\] is not known/,
    ],
    [
      'redirects to another server',
      onCompletion((response) => void response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end()),
      'INFERENCE_FAILED',
      /status 307/,
    ],
    [
      'sends an error that never ends',
      onCompletion((response) => {
        response.writeHead(500);
        const timer = setInterval(() => response.write('e'.repeat(10_000)), 5);
        response.on('close', () => clearInterval(timer));
      }),
      'INFERENCE_FAILED',
      /status 500/,
    ],
    [
      'sends an error byte by byte',
      onCompletion((response) => {
        response.writeHead(500);
        const timer = setInterval(() => response.write('e'), 50);
        response.on('close', () => clearInterval(timer));
      }),
      'INFERENCE_FAILED',
      /status 500/,
      { firstByteMs: 700 },
    ],
    [
      'sends an event that never ends',
      onCompletion((response) => {
        begin(response);
        response.write(`data: ${'x'.repeat(5_000_000)}`);
      }),
      'INFERENCE_FAILED',
      /more than 4000000 characters/,
    ],
    [
      'has headers without end',
      onCompletion((response) => {
        response.socket?.write(`HTTP/1.1 200 OK\r\n${'x-more: and more\r\n'.repeat(10_000)}`);
      }),
      'INFERENCE_FAILED',
      /Header overflow/i,
    ],
    [
      'sends a compressed stream',
      onCompletion((response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' });
        response.end(gzipSync('data: {}\n\n'.repeat(100_000)));
      }),
      'INFERENCE_FAILED',
      /it has no events, but/,
    ],
    [
      'has too many requests each time',
      onCompletion((response) => sendError(response, 429, 'Slow down')),
      'INFERENCE_FAILED',
      /status 429: Slow down; too many requests/,
    ],
    [
      'asks to wait for an hour',
      onCompletion((response) => sendError(response, 429, 'Slow down', { 'retry-after': '3600' })),
      'INFERENCE_FAILED',
      /status 429/,
    ],
    [
      'has an internal error',
      onCompletion((response) => sendError(response, 500, 'out of memory')),
      'INFERENCE_FAILED',
      /status 500: out of memory/,
    ],
    [
      'answers with a page',
      onCompletion((response) => void response.writeHead(502).end('<html>Bad Gateway</html>')),
      'INFERENCE_FAILED',
      /status 502: <html>Bad Gateway/,
    ],
    [
      'sends an event that is no JSON',
      onCompletion((response) => {
        begin(response);
        response.end('data: {"content"\n\n');
      }),
      'INFERENCE_FAILED',
      /event that is not JSON/,
    ],
    [
      'sends an event without tokens',
      onCompletion((response) => {
        begin(response);
        writeEvent(response, { text: 'es' });
      }),
      'INFERENCE_FAILED',
      /no content and tokens/,
    ],
    [
      'reports an error in its stream',
      onCompletion((response) => {
        begin(response);
        writeEvent(response, { error: { code: 500, message: 'context is gone' } });
      }),
      'INFERENCE_FAILED',
      /context is gone/,
    ],
    [
      'ends its stream before the last event',
      onCompletion((response) => {
        begin(response);
        response.end();
      }),
      'ENGINE_CRASHED',
      /gone away in the middle/,
    ],
    [
      'breaks its connection in the middle',
      onCompletion((response) => {
        begin(response);
        setImmediate(() => response.destroy());
      }),
      'ENGINE_CRASHED',
      /gone away in the middle/,
    ],
    [
      'stalls in the middle',
      onCompletion(begin),
      'INFERENCE_FAILED',
      /has stalled: no event has come for 700 ms/,
      { idleMs: 700 },
    ],
    [
      'sends nothing but comments after a token',
      onCompletion((response) => {
        begin(response);
        commentOn(response);
      }),
      'INFERENCE_FAILED',
      /has stalled: no event has come for 700 ms/,
      { idleMs: 700 },
    ],
    [
      'sends nothing but comments from the begin',
      onCompletion((response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        commentOn(response);
      }),
      'INFERENCE_FAILED',
      /has stalled: no event has come for 700 ms/,
      { firstByteMs: 700 },
    ],
    [
      'sends no head',
      onCompletion(() => undefined),
      'INFERENCE_FAILED',
      /has not answered within 700 ms/,
      { firstByteMs: 700 },
    ],
  ])(
    '%s: the turn fails with its words, and the sequence is usable afterwards',
    async (_, script, name, message, times) => {
      const { servers, sequence, model } = await open(1, times);
      const [server] = servers;
      if (!server) throw new Error('no server');
      server.script = script;
      const failure = await generate(sequence, userPrompt('Hello?')).catch((error: unknown) => error);
      expect(failure).toMatchObject({ name, message: expect.stringMatching(message) as unknown });
      expect(inspect(failure, { depth: 10 }) + String(failure)).not.toContain(key.slice(0, 6));
      server.script = () => false;
      // The breaker may be open for a moment.
      await expect
        .poll(async () => (await generate(sequence, userPrompt('Hello?')).catch(() => undefined))?.text, {
          timeout: 20_000,
        })
        .toBe('Yes.');
      expect(model.stats()).toMatchObject({ slotsBusy: 0, waiting: 0 });
    },
  );

  it('is asked again before the first token, and waits as long as it says', async () => {
    const { servers, sequence } = await open();
    const [server] = servers;
    if (!server) throw new Error('no server');
    server.script = onCompletion((response) => sendError(response, 429, 'Slow down', { 'retry-after': '0' }), 2);
    expect((await generate(sequence, userPrompt('Hello?'))).text).toBe('Yes.');
    expect(server.counts.get('/completion')).toBe(3);
    expect(new Set(server.keys)).toEqual(new Set([`Bearer ${key}`]));
  });

  it('is not asked again after the first token', async () => {
    const { servers, sequence } = await open();
    const [server] = servers;
    if (!server) throw new Error('no server');
    server.script = onCompletion((response) => {
      begin(response);
      response.end();
    });
    await expect(generate(sequence, userPrompt('Hello?'))).rejects.toMatchObject({ name: 'ENGINE_CRASHED' });
    expect(server.counts.get('/completion')).toBe(1);
  });

  it('is not asked for a while after several failures', async () => {
    const { servers, sequence } = await open(1, { breakMs: 3_600_000 });
    const [server] = servers;
    if (!server) throw new Error('no server');
    server.script = onCompletion((response) => sendError(response, 503, 'Loading model'));
    await expect(generate(sequence, userPrompt('Hello?'))).rejects.toMatchObject({ name: 'INFERENCE_FAILED' });
    const asked = server.counts.get('/completion');
    await expect(generate(sequence, userPrompt('Hello?'))).rejects.toMatchObject({
      name: 'INFERENCE_FAILED',
      message: expect.stringMatching(/failed several times in a row, and is asked again in \d+ s/) as unknown,
    });
    expect(server.counts.get('/completion')).toBe(asked);
  });

  it('has failed once where the requests of several agents break off together', async () => {
    const { servers, model } = await open(1, { retryMs: 100, breakMs: 3_600_000 });
    const [server] = servers;
    if (!server) throw new Error('no server');
    const crowd = 4;
    const { slots } = model.stats();
    const asked: Parameters<ServerScript>[2][] = [];
    // Those that wait for a slot break off, too, when they get it.
    server.script = onCompletion((response) => {
      asked.push(response);
      if (asked.length >= slots) for (const one of asked) one.destroy();
    }, crowd);
    const sequences = Array.from({ length: crowd }, () => model.openSequence());
    const answers = await Promise.all(sequences.map((sequence) => generate(sequence, userPrompt('Hello?'))));
    expect(answers.map(({ text }) => text)).toEqual(sequences.map(() => 'Yes.'));
    expect(server.counts.get('/completion')).toBe(2 * crowd);
  });

  it('may keep a connection open with comments while it computes the first token', async () => {
    const { servers, sequence } = await open(1, { idleMs: 300, firstByteMs: 60_000 });
    const [server] = servers;
    if (!server) throw new Error('no server');
    server.script = onCompletion((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      commentOn(response);
      setTimeout(() => {
        writeEvent(response, characterEvent('Y', 1));
        writeEvent(response, { content: '', tokens: [], stop: true, stop_type: 'eos', timings: { cache_n: 0 } });
      }, 900);
    }, 1);
    expect((await generate(sequence, userPrompt('Hello?'))).text).toBe('Y');
  });

  it('is told of a cancel: its connection is closed', async () => {
    const { servers, sequence } = await open();
    const [server] = servers;
    if (!server) throw new Error('no server');
    server.script = onCompletion(begin, 1);
    const control = new AbortController();
    const cut = await generate(sequence, userPrompt('Hello?'), {
      signal: control.signal,
      onText: () => control.abort(),
    });
    expect(cut).toMatchObject({ text: 'Y', finishReason: 'aborted' });
    await expect.poll(() => server.cancelled).toEqual([1]);
    expect((await generate(sequence, userPrompt('Hello?'))).text).toBe('Yes.');
  });
});

describe('several inference servers', () => {
  it('share sequences, each of which stays where it is', async () => {
    const { servers, model } = await open(2);
    const sequences = [1, 2, 3, 4].map(() => model.openSequence());
    for (let round = 0; round < 3; round++)
      await Promise.all(sequences.map((sequence) => generate(sequence, userPrompt(`Hello ${round}?`))));
    expect(servers.map(({ counts }) => counts.get('/completion'))).toEqual([6, 6]);
  });

  it('take over from one that has gone', async () => {
    const { servers, model } = await open(2);
    const sequences = [1, 2].map(() => model.openSequence());
    const all = (): Promise<readonly string[]> =>
      Promise.all(sequences.map(async (sequence) => (await generate(sequence, userPrompt('Hello?'))).text));
    expect(await all()).toEqual(['Yes.', 'Yes.']);
    servers[0]?.kill();
    expect(await all()).toEqual(['Yes.', 'Yes.']);
    servers[1]?.kill();
    await expect(all()).rejects.toMatchObject({ name: 'INFERENCE_FAILED' });
  });

  it('are named where one of them does not answer, or serves another model', async () => {
    const { servers, engine } = await open(1);
    const other = await startScriptedServer();
    opened.push(other);
    other.script = (path, _, response) => path === '/props' && sendError(response, 503, 'Loading model');
    const remote = {
      api: 'llama-server',
      baseUrls: [servers[0]?.url ?? '', other.url],
      model: undefined,
      apiKeyEnv: undefined,
      templateFile: undefined,
    } as const;
    const model = await engine.load('', { ...load, remote });
    expect(model.stats().slots).toBe(2);
    expect(model.notes).toEqual([expect.stringContaining(`${other.url}/props answers with status 503: Loading model`)]);
    await expect(engine.load('', { ...load, remote: { ...remote, baseUrls: [other.url] } })).rejects.toMatchObject({
      name: 'MODEL_LOAD_FAILED',
      message: expect.stringContaining('Loading model') as unknown,
    });
  });

  it('join when they answer later', async () => {
    const { servers, engine } = await open(2);
    const [first, late] = servers;
    if (!first || !late) throw new Error('no server');
    late.script = (path, _, response) => path === '/props' && sendError(response, 503, 'Loading model');
    const model = await engine.load('', { ...load });
    const sequences = [1, 2].map(() => model.openSequence());
    const all = (): Promise<readonly string[]> =>
      Promise.all(sequences.map(async (sequence) => (await generate(sequence, userPrompt('Hello?'))).text));
    expect(await all()).toEqual(['Yes.', 'Yes.']);
    expect(late.counts.has('/completion')).toBe(false);
    late.script = () => false;
    const texts = async (): Promise<number> => {
      const added = [1, 2, 3].map(() => model.openSequence());
      await Promise.all(added.map((sequence) => generate(sequence, userPrompt('Hello?'))));
      for (const sequence of added) await sequence[Symbol.asyncDispose]();
      return late.counts.get('/completion') ?? 0;
    };
    await expect.poll(texts).toBeGreaterThan(0);
    expect(model.stats().slots).toBe(4);
  });

  it.each<[string, object, RegExp]>([
    ['another model', { model_alias: 'larger' }, /serves another model than before: larger instead of scripted/],
    ['another template', { chat_template: 'none' }, /its chat template differs/],
  ])(
    'are refused when they are exchanged between two turns for %s, without a failed request',
    async (_, props, message) => {
      const { servers, sequence } = await open(1, { recheckMs: 0 });
      const [server] = servers;
      if (!server) throw new Error('no server');
      expect((await generate(sequence, userPrompt('Hello?'))).text).toBe('Yes.');
      server.props = props;
      await expect(generate(sequence, userPrompt('Hello?'))).rejects.toThrow(message);
      expect(server.counts.get('/completion')).toBe(1);
      server.props = {};
      await expect
        .poll(async () => (await generate(sequence, userPrompt('Hello?')).catch(() => undefined))?.text)
        .toBe('Yes.');
    },
  );

  it('keep the slots of their sequences when they still serve the model', async () => {
    const { servers, model } = await open(1, { recheckMs: 0 });
    const sequences = [1, 2].map(() => model.openSequence());
    for (const order of [sequences, sequences.toReversed(), sequences])
      for (const sequence of order) await generate(sequence, userPrompt('Hello?'));
    expect(servers[0]?.completions.map((body) => body['id_slot'])).toEqual([0, 1, 1, 0, 0, 1]);
  });

  it('are not asked what they serve while they are in use', async () => {
    const { servers, sequence } = await open(1, { recheckMs: 3_600_000 });
    const asked = servers[0]?.counts.get('/props');
    for (let turn = 0; turn < 3; turn++) await generate(sequence, userPrompt('Hello?'));
    expect(servers[0]?.counts.get('/props')).toBe(asked);
  });

  it.each<[string, object, RegExp]>([
    ['another model', { model_alias: 'larger' }, /serves another model than before: larger instead of scripted/],
    ['another template', { chat_template: 'none' }, /its chat template differs/],
    ['another end token', { eos_token: '</s>' }, /its BOS or EOS token differs/],
    [
      'smaller slots',
      { default_generation_settings: { n_ctx: 256 } },
      /has slots of 256 tokens now, and the model was loaded with 512/,
    ],
  ])('are refused when they have been started again with %s, until they serve the model', async (_, props, message) => {
    const { servers, sequence, model } = await open();
    const [server] = servers;
    if (!server) throw new Error('no server');
    server.script = onCompletion((response) => void response.destroy(), 3);
    await expect(generate(sequence, userPrompt('Hello?'))).rejects.toThrow('cannot be reached');
    server.props = props;
    const failure = (): Promise<unknown> => generate(sequence, userPrompt('Hello?')).catch((error: unknown) => error);
    await expect
      .poll(failure)
      .toMatchObject({ name: 'INFERENCE_FAILED', message: expect.stringMatching(message) as unknown });
    expect(server.counts.get('/completion')).toBe(3);
    server.props = { total_slots: 5 };
    await expect.poll(async () => Object(await failure()).text as unknown).toBe('Yes.');
    expect(model.stats()).toMatchObject({ slots: 5, slotsBusy: 0 });
  });
});
