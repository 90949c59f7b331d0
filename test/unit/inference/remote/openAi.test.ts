import type { ServerResponse } from 'node:http';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Engine } from '../../../../src/inference/contract/engine.ts';
import type { RemoteModel } from '../../../../src/inference/contract/model.ts';
import { httpEngine } from '../../../../src/inference/remote/engine.ts';
import { generate, userPrompt } from '../../../contracts/generation.ts';
import {
  characterEvent,
  choiceEvent,
  scriptedTemplate,
  startScriptedServer,
  writeEvent,
  type ScriptedServer,
} from '../../../helpers/inference/scriptedServer.ts';
import type { RemoteCompletionPart } from '../../../../src/inference/remote/inferenceServer.ts';
import { estimatedTokenizer } from '../../../../src/inference/remote/openAi/openAiTokenizer.ts';
import { HttpConnection, defaultTimeouts } from '../../../../src/inference/remote/connection/httpConnection.ts';
import { OpenAiEvents } from '../../../../src/inference/remote/openAi/openAiServer.ts';
import { ServerJson } from '../../../../src/inference/remote/connection/serverJson.ts';
import { createVocabulary } from '../../../../src/inference/remote/vocabulary.ts';
import type { Token } from '../../../../src/inference/decoding/tokenizer.ts';

const signal = new AbortController().signal;
const token = (id: number): Token => id as Token;
const end = token(1);
const call = token(2);
const spellings = new Map([
  [end, '<|im_end|>'],
  [call, '<|call|>'],
]);
const vocabulary = createVocabulary((id) => spellings.get(id), new Set(spellings.keys()), {
  bosToken: undefined,
  addsLeadingSpace: false,
  isExact: true,
});

interface Chunk {
  readonly text: string;
  readonly ids?: readonly number[];
  readonly reason?: string;
}

function read(chunks: readonly Chunk[]): {
  readonly parts: readonly RemoteCompletionPart[];
  readonly end: () => string;
} {
  const json = new ServerJson(new HttpConnection('http://127.0.0.1:9', undefined, defaultTimeouts, {}), undefined);
  const events = new OpenAiEvents(json, vocabulary);
  const parts = chunks.flatMap(({ text, ids, reason = null }) => [
    ...events.read({ choices: [{ text, token_ids: ids, finish_reason: reason }] }),
  ]);
  return { parts: parts.map(({ logprobs: _logprobs, ...part }) => part), end: () => events.end() };
}

describe('the events of an OpenAI-style completion', () => {
  it('may have several tokens each', () => {
    const { parts } = read([{ text: 'Good day', ids: [10, 11] }]);
    expect(parts).toEqual([{ text: 'Good day', tokens: [10, 11], count: 2 }]);
  });

  it('have the text of a character with its last token', () => {
    const { parts } = read([
      { text: '', ids: [10] },
      { text: '', ids: [11] },
      { text: '🎉', ids: [12] },
    ]);
    expect(parts).toEqual([{ text: '🎉', tokens: [10, 11, 12], count: 3 }]);
  });

  it('are parted at control tokens', () => {
    const { parts } = read([{ text: 'Yes<|call|>no', ids: [10, 2, 11] }]);
    expect(parts).toEqual([
      { text: 'Yes', tokens: [10], count: 1 },
      { text: '<|call|>', tokens: [2], count: 1 },
      { text: 'no', tokens: [11], count: 1 },
    ]);
  });

  it('have no text for the end of generation token', () => {
    const { parts, end: ended } = read([{ text: 'Bye', ids: [10, 1], reason: 'stop' }]);
    expect(parts).toEqual([
      { text: 'Bye', tokens: [10], count: 1 },
      { text: '<|im_end|>', tokens: [1], count: 1 },
    ]);
    expect(ended()).toBe('eos');
  });

  it('may have no tokens: control tokens are read in their text', () => {
    const { parts } = read([{ text: 'Yes<|call|>' }, { text: 'no' }]);
    expect(parts).toEqual([
      { text: 'Yes', tokens: [], count: 1 },
      { text: '<|call|>', tokens: [2], count: 1 },
      { text: 'no', tokens: [], count: 1 },
    ]);
  });

  it.each([
    ['an end that is unknown', [{ text: '', reason: 'abort' }], 'it ends for an unknown reason: abort'],
    ['no end', [{ text: 'Yes' }], 'its events end before the last one'],
  ])('are refused with %s', (_, chunks, why) => {
    expect(() => read(chunks).end()).toThrow(why);
  });
});

const load = { contextSize: 0, slots: 0, threads: 0, gpu: 'off' } as const;
let folder = '';
let templateFile = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  templateFile = join(folder, 'template.jinja');
  await writeFile(templateFile, scriptedTemplate);
});
afterAll(() => rm(folder, { recursive: true }));

const engineOf = ({ url }: ScriptedServer, api: RemoteModel['api'] = 'openai'): Engine =>
  httpEngine({
    // A test in which the engine waits for a silent server does not end.
    timeouts: { idleMs: 900_000, recheckMs: 0, retryMs: 1, breakMs: 20 },
    remote: { api, baseUrls: [url], model: undefined, apiKeyEnv: undefined, templateFile },
  });

/** Writes again and again, until the client goes. */
function repeat(response: ServerResponse, write: () => void): true {
  const next = (): void => {
    if (response.destroyed) return;
    for (let count = 0; count < 10; count++) write();
    if (response.writableNeedDrain) response.once('drain', next);
    else setTimeout(next, 1);
  };
  next();
  return true;
}

const writeWithoutEnd = (response: ServerResponse, api: RemoteModel['api'], count = Infinity): true => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  let nth = 0;
  return repeat(
    response,
    () => nth++ < count && writeEvent(response, api === 'openai' ? choiceEvent('a') : characterEvent('a', nth)),
  );
};

/** Tokens of which no text ever comes. */
const writeWithoutText = (response: ServerResponse, api: RemoteModel['api']): true => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  let nth = 0;
  return repeat(response, () =>
    writeEvent(
      response,
      api === 'openai'
        ? { choices: [{ text: '', token_ids: [10], finish_reason: null }] }
        : { content: '', tokens: [10], tokens_predicted: ++nth, stop: false },
    ),
  );
};

/** Events without a token. */
const writeNothing = (response: ServerResponse, api: RemoteModel['api']): true =>
  repeat(response, () =>
    writeEvent(response, api === 'openai' ? { choices: [] } : { content: '', tokens: [], stop: false }),
  );

/** The limit of three tokens is in the middle of a character. */
function writeCutCharacter(response: ServerResponse, api: RemoteModel['api']): true {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  if (api === 'openai') {
    writeEvent(response, choiceEvent('a'));
    writeEvent(response, { choices: [{ text: '', token_ids: [10], finish_reason: null }] });
    writeEvent(response, { choices: [{ text: '', token_ids: [11], finish_reason: 'length' }] });
    response.end('data: [DONE]\n\n');
  } else {
    writeEvent(response, characterEvent('a', 1));
    writeEvent(response, { content: '', tokens: [], tokens_predicted: 3, stop: true, stop_type: 'limit' });
    response.end();
  }
  return true;
}

describe('a server with the API openai', () => {
  it.each<[string, object]>([
    ['name', { id: 'larger' }],
    ['path', { root: '/models/larger' }],
    ['context', { max_model_len: 256 }],
  ])('is refused when it is exchanged between two turns for one with another %s', async (_, props) => {
    await using server = await startScriptedServer();
    await using engine = engineOf(server);
    const model = await engine.load('', load);
    await using sequence = model.openSequence();
    expect((await generate(sequence, userPrompt('Hello?'))).text).toBe('Yes.');
    const probes = server.counts.get('probe');
    expect((await generate(sequence, userPrompt('Hello?'))).text).toBe('Yes.');
    // It was asked what it serves, and not again what it can do.
    expect(server.counts.get('probe')).toBe(probes);
    server.props = props;
    await expect(generate(sequence, userPrompt('Hello?'))).rejects.toThrow('serves another model');
    expect(server.counts.get('/v1/completions')).toBe(2);
    server.props = {};
    await expect
      .poll(async () => (await generate(sequence, userPrompt('Hello?')).catch(() => undefined))?.text)
      .toBe('Yes.');
  });
});

describe.each(['openai', 'llama-server'] as const)('a server with the API %s', (api) => {
  it.each([512.5, -512, 2 ** 32, 1e300])(
    'that has a context of %f tokens has not said how long it is',
    async (size) => {
      await using server = await startScriptedServer();
      server.props = { max_model_len: size, default_generation_settings: { n_ctx: size } };
      await using engine = engineOf(server, api);
      await expect(engine.load('', load)).rejects.toThrow('set context_size in models.json');
      expect(await engine.load('', { ...load, contextSize: 256 })).toMatchObject({ contextSize: 256 });
    },
  );

  it('counts the tokens of a character that the limit of tokens cuts off', async () => {
    await using server = await startScriptedServer();
    server.script = (path, _, response) => /^\/(?:v1\/)?completions?$/.test(path) && writeCutCharacter(response, api);
    await using engine = engineOf(server, api);
    const model = await engine.load('', load);
    await using sequence = model.openSequence();
    const answer = await generate(sequence, userPrompt('Hello?'), { sampling: { max_tokens: 3 } });
    expect(answer).toMatchObject({ text: 'a', finishReason: 'length', tokens: { generated: 3 } });
  });

  it.each([
    ['writes on', (response: ServerResponse) => writeWithoutEnd(response, api)],
    ['is silent then', (response: ServerResponse) => writeWithoutEnd(response, api, 3)],
    [
      'sends events without a token then',
      (response: ServerResponse) => writeWithoutEnd(response, api, 3) && writeNothing(response, api),
    ],
    [
      'goes away then',
      (response: ServerResponse) => setTimeout(() => response.destroy(), 200) && writeWithoutEnd(response, api, 3),
    ],
  ])('ends an answer at its limit of tokens, though the server %s', async (_, script) => {
    await using server = await startScriptedServer();
    server.script = (path, _nth, response) => /^\/(?:v1\/)?completions?$/.test(path) && script(response);
    await using engine = engineOf(server, api);
    const model = await engine.load('', load);
    await using sequence = model.openSequence();
    for (const maxTokens of [1, 3]) {
      const answer = await generate(sequence, userPrompt('Hello?'), { sampling: { max_tokens: maxTokens } });
      expect(answer).toMatchObject({ text: 'a'.repeat(maxTokens), finishReason: 'length' });
      expect(answer.tokens).toMatchObject({ generated: maxTokens });
    }
    // A prefill asks for one token, which nobody reads.
    await sequence.prefill(userPrompt('Are you there?'), signal);
    await expect.poll(() => server.cancelled.length).toBeGreaterThanOrEqual(3);
  });

  it('ends an answer at its limit of tokens, though the server sends no text of them', async () => {
    await using server = await startScriptedServer();
    server.script = (path, _nth, response) => /^\/(?:v1\/)?completions?$/.test(path) && writeWithoutText(response, api);
    await using engine = engineOf(server, api);
    const model = await engine.load('', load);
    await using sequence = model.openSequence();
    const answer = await generate(sequence, userPrompt('Hello?'), { sampling: { max_tokens: 32 } });
    expect(answer).toMatchObject({ text: '', finishReason: 'length', tokens: { generated: 32 } });
  });

  it('can be cancelled while it sends events without a token', async () => {
    await using server = await startScriptedServer();
    server.script = (path, _nth, response) => /^\/(?:v1\/)?completions?$/.test(path) && writeNothing(response, api);
    await using engine = engineOf(server, api);
    const model = await engine.load('', load);
    await using sequence = model.openSequence();
    const options = { signal: AbortSignal.timeout(300) };
    expect(await generate(sequence, userPrompt('Hello?'), options)).toMatchObject({ finishReason: 'aborted' });
  });

  it.each([
    ['a page', '<!DOCTYPE html>\n<title>Sign in</title>\n'],
    ['a page after a line break', '\r\n  <html>Sign in</html>'],
    ['JSON', '{"choices":[{"text":"Yes.","finish_reason":"stop"}]}'],
    ['a list', '[1,\n2]'],
    ['plain text', 'Yes, I am here.\nReally.'],
    ['nothing but an error in words', 'Internal Server Error'],
  ])('that answers with %s in place of events is no crashed one: it says what came', async (_, body) => {
    await using server = await startScriptedServer();
    server.script = (path, _nth, response) =>
      /^\/(?:v1\/)?completions?$/.test(path) && Boolean(response.writeHead(200).end(body));
    await using engine = engineOf(server, api);
    const model = await engine.load('', load);
    await using sequence = model.openSequence();
    await expect(generate(sequence, userPrompt('Hello?'))).rejects.toMatchObject({
      name: 'INFERENCE_FAILED',
      message: expect.stringContaining(`no events, but ${body.trim().split('\n')[0] ?? ''}`) as unknown,
    });
  });
});

describe('estimated tokens', () => {
  const tokenizer = estimatedTokenizer(['<|im_end|>', '[INST]']);

  it.each(['', 'Hello!', 'Zürich, 東京 and 🎉🎊', '\u0000 and \n', 'नमस्ते'])(
    'stand for their text: %j',
    async (text) => {
      const tokens = await tokenizer.tokenize(text, { special: false, signal });
      expect(await tokenizer.detokenize(tokens, signal)).toBe(text);
      expect(tokenizer.promptOf(tokens)).toBe(text);
      expect(tokens.length).toBeGreaterThanOrEqual(Buffer.byteLength(text) / 2);
    },
  );

  it('are control tokens only where control strings are read', async () => {
    const written = 'Hi<|im_end|>';
    const tokens = await tokenizer.tokenize(written, { special: true, signal });
    expect(tokens.filter(tokenizer.vocabulary.isControl)).toHaveLength(1);
    expect(tokenizer.promptOf(tokens)).toBe(written);
    const plain = await tokenizer.tokenize(written, { special: false, signal });
    expect(plain.some(tokenizer.vocabulary.isControl)).toBe(false);
    expect(tokenizer.promptOf(plain)).toBe('Hi<|\u200Bim_end|>');
  });

  it('are broken up in a prompt where they look like control strings that are not known', async () => {
    const texts = ['<|fim_prefix|>', '<｜User｜>', '[TOOL_CALLS]', '</s>', '<start_of_turn>'];
    for (const text of texts) {
      const prompt = String(tokenizer.promptOf(await tokenizer.tokenize(`a ${text} b`, { special: false, signal })));
      expect(prompt).not.toContain(text);
      expect(prompt.replaceAll('\u200B', '')).toBe(`a ${text} b`);
    }
    const harmless = 'x < y, <b>bold</b>, [x], <tool_call>';
    expect(tokenizer.promptOf(await tokenizer.tokenize(harmless, { special: false, signal }))).toBe(harmless);
  });
});
