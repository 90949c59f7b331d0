import { createConnection } from 'node:net';
import OpenAI from 'openai';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Engine } from '../../../src/inference/contract/engine.ts';
import { Gate } from '../../helpers/gate.ts';
import { heldEngine, override } from '../../helpers/heldEngine.ts';
import { startTestServer, type TestServerOptions } from '../../helpers/server.ts';

const model = 'turngraph-demo';
const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'hi' }];

interface Watched {
  readonly engine: Engine;
  /** The number of generations that run. */
  readonly running: () => number;
  /** The tokens that generations have brought. */
  readonly pieces: () => number;
}

/** An engine that counts the generations that run, and what they bring. */
function watch(engine: Engine): Watched {
  let [running, pieces] = [0, 0];
  const load: Engine['load'] = async (...args) => {
    const loaded = await engine.load(...args);
    return override(loaded, {
      openSequence: (options) => {
        const sequence = loaded.openSequence(options);
        return override(sequence, {
          generate: async (prompt, generateOptions) => {
            running++;
            const onText = (piece: string): void => {
              pieces++;
              generateOptions.onText?.(piece);
            };
            return sequence.generate(prompt, { ...generateOptions, onText }).finally(() => running--);
          },
        });
      },
    });
  };
  return { engine: override(engine, { load }), running: () => running, pieces: () => pieces };
}

async function startHeld(options: TestServerOptions = {}, piecesBeforeGate = 2) {
  const gate = new Gate();
  const watched = watch(heldEngine([{ match: '', answer: 'One two three four five.', gate, piecesBeforeGate }]));
  const server = await startTestServer({ openai: true, engines: { 'llama-cpp': watched.engine }, ...options });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const client = new OpenAI({ baseURL: `http://127.0.0.1:${server.port}/v1`, apiKey: 'none', maxRetries: 0 });
  return { ...watched, gate, server, client };
}

const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await new Promise(setImmediate);
};

describe('a completion whose client goes away', () => {
  it('ends within a token when its stream is aborted', async () => {
    const { client, gate, running, pieces } = await startHeld();
    const stream = await client.chat.completions.create({ model, messages, stream: true });
    const received: unknown[] = [];
    for await (const chunk of stream) {
      if (received.push(chunk) === 3) stream.controller.abort();
    }
    await until(() => running() === 0);
    expect(pieces()).toBeLessThanOrEqual(3);
    gate.open();
    const again = await client.chat.completions.create({ model, messages });
    expect(again.choices[0]?.message.content).toBe('One two three four five.');
  });

  it('ends within a token when the client has waited too long', async () => {
    const { client, running, pieces } = await startHeld();
    await expect(client.chat.completions.create({ model, messages }, { timeout: 200 })).rejects.toThrow(/timed out/);
    await until(() => running() === 0);
    expect(pieces()).toBeLessThanOrEqual(3);
  });
});

describe.each([
  ['before its first token', 0],
  ['after two tokens', 2],
])('a completion %s', (_, piecesBeforeGate) => {
  it.each([true, false])('ends when its socket is closed (stream: %s), and its place is free', async (stream) => {
    const warnings: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line) => void warnings.push(line) });
    const options = { maxConnections: 1, log };
    const { client, gate, server, running, pieces } = await startHeld(options, piecesBeforeGate);
    const socket = createConnection({ port: server.port, host: '127.0.0.1' });
    const body = JSON.stringify({ model, messages, stream });
    const head = ['POST /v1/chat/completions HTTP/1.1', 'Host: localhost', `Content-Length: ${body.length}`];
    socket.write([...head, '', body].join('\r\n'));
    await until(() => running() === 1 && pieces() === piecesBeforeGate);
    socket.destroy();
    await until(() => running() === 0);
    expect(pieces()).toBeLessThanOrEqual(piecesBeforeGate + 1);
    gate.open();
    const again = await client.chat.completions.create({ model, messages });
    expect(again.choices[0]?.message.content).toBe('One two three four five.');
    expect(warnings).toEqual([]);
  });
});

describe('a server with running completions', () => {
  it('refuses more than its connections, and admits one again when another has ended', async () => {
    const { client, gate, running } = await startHeld({ maxConnections: 1 });
    const first = client.chat.completions.create({ model, messages });
    await until(() => running() === 1);
    await expect(client.chat.completions.create({ model, messages })).rejects.toMatchObject({ status: 429 });
    gate.open();
    await first;
    await expect(client.chat.completions.create({ model, messages })).resolves.toMatchObject({ model });
  });

  it('warns of no leak of listeners, however many they are', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on('warning', onWarning);
    onTestFinished(() => void process.off('warning', onWarning));
    const { client, gate, running } = await startHeld();
    const completions = Array.from({ length: 12 }, () => client.chat.completions.create({ model, messages }));
    await until(() => running() === 12);
    gate.open();
    await Promise.all(completions);
    expect(warnings).toEqual([]);
  });

  it('ends them when it shuts down, a stream with an error', async () => {
    const { client, server } = await startHeld();
    const stream = await client.chat.completions.create({ model, messages, stream: true });
    const read = (async () => {
      for await (const _ of stream);
    })();
    const failed = expect(read).rejects.toMatchObject({
      error: { code: 'server_shutting_down', type: 'server_error' },
    });
    await server[Symbol.asyncDispose]();
    await failed;
  });

  it('ends a turn that takes too long with 504', async () => {
    const { client } = await startHeld({ turnTimeout: 0.1 });
    await expect(client.chat.completions.create({ model, messages })).rejects.toMatchObject({
      status: 504,
      code: 'inference_timeout',
    });
  });
});
