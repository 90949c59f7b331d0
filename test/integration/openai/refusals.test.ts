import { createConnection } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { mockEngine } from '../../../src/inference/mock/engine.ts';
import { Fault } from '../../../src/protocol/fault.ts';
import { bundledPath } from '../../../src/base/packageFiles.ts';
import { fileMissingFault, readCatalogue } from '../../../src/inference/models/catalogue/catalogue.ts';
import { override } from '../../helpers/heldEngine.ts';
import { parseScrape } from '../../helpers/prometheus.ts';
import { maxFrameBytes } from '../../../src/protocol/frameSize.ts';
import { startTestServer, useServer, type TestServerOptions } from '../../helpers/server.ts';

const token = 'open sesame';
const origin = 'https://game.example';
const engines = { 'llama-cpp': mockEngine() };
const server = useServer({ openai: true, engines, token, allowOrigin: [origin] });

const authorization = `Bearer ${token}`;
const model = 'turngraph-demo';
const user = { role: 'user', content: 'hi' };
const chat = { model, messages: [user] };
const tool = { type: 'function', function: { name: 'f' } };
const called = {
  role: 'assistant',
  tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
};
const result = { role: 'tool', tool_call_id: 'a', content: 'ok' };

/** Sends a request for a completion. */
async function post(body: unknown, { port } = server(), headers: Record<string, string> = { authorization }) {
  const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, { method: 'POST', headers, body: text });
  return { status: response.status, headers: response.headers, body: (await response.json()) as unknown };
}

async function startOwn(options: TestServerOptions) {
  const own = await startTestServer({ openai: true, engines, ...options });
  onTestFinished(() => own[Symbol.asyncDispose]());
  return own;
}

describe('the OpenAI-compatible API', () => {
  it.each([
    ['another body', '[]', null],
    ['text that is no JSON', '{', null],
    ['half of a surrogate pair', JSON.stringify({ ...chat, user: '\u{1f600}' }).replace('\u{1f600}', '\\uD83D'), null],
    ['fields that every object has', `{"constructor": 1, ${JSON.stringify(chat).slice(1)}`, 'constructor'],
    ['the prototype of an object', `{"__proto__": 1, ${JSON.stringify(chat).slice(1)}`, '__proto__'],
    ['no model', { messages: [user] }, 'model'],
    ['no messages', { model }, 'messages'],
    ['an empty list of messages', { model, messages: [] }, 'messages'],
    ['several answers', { ...chat, n: 2 }, 'n'],
    ['log probabilities', { ...chat, logprobs: true }, 'logprobs'],
    ['a bias', { ...chat, logit_bias: { 5: 1 } }, 'logit_bias'],
    ['audio', { ...chat, modalities: ['text', 'audio'] }, 'modalities'],
    ['the old functions', { ...chat, functions: [] }, 'functions'],
    ['an unknown field', { ...chat, mirostat: 2 }, 'mirostat'],
    ['a temperature out of range', { ...chat, temperature: 3 }, 'temperature'],
    ['a temperature of text', { ...chat, temperature: 'hot' }, 'temperature'],
    ['no tokens', { ...chat, max_tokens: 0 }, 'max_tokens'],
    ['usage without a stream', { ...chat, stream_options: { include_usage: true } }, 'stream_options'],
    ['an unknown stream option', { ...chat, stream: true, stream_options: { speed: 1 } }, 'stream_options.speed'],
    [
      'an image',
      { model, messages: [{ role: 'user', content: [{ type: 'image_url', image_url: {} }] }] },
      'messages[0].content[0]',
    ],
    ['sound', { model, messages: [{ role: 'user', content: [{ type: 'input_audio' }] }] }, 'messages[0].content[0]'],
    ['a message without content', { model, messages: [{ role: 'user' }] }, 'messages[0].content'],
    ['a system message without content', { model, messages: [{ role: 'system' }, user] }, 'messages[0].content'],
    [
      'a system message with calls',
      { model, messages: [{ ...called, role: 'system', content: '' }, user] },
      'messages[0].tool_calls',
    ],
    [
      'a system message with the id of a call',
      { model, messages: [{ ...result, role: 'developer' }, user] },
      'messages[0].tool_call_id',
    ],
    ['an unknown role', { model, messages: [{ role: 'narrator', content: '' }] }, 'messages[0].role'],
    ['an unknown member of a message', { model, messages: [{ ...user, mood: 'glad' }] }, 'messages[0].mood'],
    ['an answer at the end', { model, messages: [user, { role: 'assistant', content: 'Yes' }] }, 'messages[1]'],
    ['a call without a result', { model, messages: [user, called, user] }, 'messages[1].tool_calls[0]'],
    ['a result without a call', { model, messages: [user, result] }, 'messages[1]'],
    [
      'a result of another call',
      { model, messages: [user, called, { ...result, tool_call_id: 'b' }] },
      'messages[2].tool_call_id',
    ],
    [
      'a message that is too long',
      { model, messages: [{ ...user, content: 'x'.repeat(262_145) }] },
      'messages[0].content',
    ],
    [
      'a result in the name of another function',
      { model, messages: [user, called, { ...result, name: 'g' }] },
      'messages[2].name',
    ],
    ['a required call without tools', { ...chat, tool_choice: 'required' }, 'tool_choice'],
    [
      'a choice of no tool',
      { ...chat, tools: [tool], tool_choice: { type: 'function', function: { name: 'g' } } },
      'tool_choice',
    ],
    [
      'more tools than a node may have',
      { ...chat, tools: Array.from({ length: 129 }, (_, at) => ({ type: 'function', function: { name: `f${at}` } })) },
      'tools',
    ],
    ['a tool of another kind', { ...chat, tools: [{ type: 'web_search' }] }, 'tools[0].function'],
    ['a tool without a name', { ...chat, tools: [{ type: 'function', function: {} }] }, 'tools[0].function.name'],
    ['a tool twice', { ...chat, tools: [tool, tool] }, 'tools[1].function.name'],
    [
      'a strict tool that no grammar expresses',
      {
        ...chat,
        tools: [
          {
            type: 'function',
            function: { name: 'f', strict: true, parameters: { type: 'object', properties: { a: { not: {} } } } },
          },
        ],
      },
      'tools[0].function.parameters.properties.a.not',
    ],
    [
      'a format without its schema',
      { ...chat, response_format: { type: 'json_schema' } },
      'response_format.json_schema',
    ],
    ['an unknown format', { ...chat, response_format: { type: 'xml' } }, 'response_format.type'],
    [
      'a schema with tools that no grammar expresses',
      {
        ...chat,
        tools: [tool],
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'n', schema: { type: 'object', properties: { a: { not: {} } } } },
        },
      },
      'response_format.json_schema.schema.properties.a.not',
    ],
    [
      'a schema that no grammar expresses',
      {
        ...chat,
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'n', schema: { type: 'object', properties: { a: { not: {} } } } },
        },
      },
      'response_format.json_schema.schema.properties.a.not',
    ],
    [
      'a system message for a graph',
      { model: 'graph:weather', messages: [{ role: 'system', content: 'x' }, user] },
      'messages',
    ],
    ['tools for a graph', { model: 'graph:weather', messages: [user], tools: [tool] }, 'tools'],
    ['a temperature for a graph', { model: 'graph:weather', messages: [user], temperature: 0.2 }, 'temperature'],
    [
      'reasoning for a graph',
      { model: 'graph:weather', messages: [user], reasoning_effort: 'high' },
      'reasoning_effort',
    ],
    [
      'reasoning by the template for a graph',
      {
        model: 'graph:weather',
        messages: [user],
        reasoning_effort: 'none',
        chat_template_kwargs: { enable_thinking: true },
      },
      'chat_template_kwargs',
    ],
    [
      'another argument of the template',
      { ...chat, chat_template_kwargs: { enable_thinking: true, tone: 'dry' } },
      'chat_template_kwargs.tone',
    ],
    [
      'results of a tool that a graph does not have',
      { model: 'graph:weather', messages: [user, called, result] },
      'messages',
    ],
  ])('refuses %s by its name', async (_, body, param) => {
    const answer = await post(body);
    expect(answer.body).toMatchObject({
      error: { message: expect.stringContaining(param ?? 'body'), type: 'invalid_request_error', param },
    });
    expect(answer.status).toBe(400);
  });

  it.each([1000, 5000, 20_000, 100_000])('refuses or answers a schema nested %i deep', async (depth) => {
    const schema = `${'{"type":"object","properties":{"a":'.repeat(depth)}{}${'}}'.repeat(depth)}`;
    const text = JSON.stringify({ ...chat, tools: [tool] }).replace('"name":"f"', `"name":"f","parameters":${schema}`);
    expect([200, 400, 413]).toContain((await post(text)).status);
    const fields = `{"model": "${model}", "metadata": ${'['.repeat(depth)}${']'.repeat(depth)}, "messages": []}`;
    expect((await post(fields)).status).toBe(400);
  });

  it.each([
    ['nobody', 'turngraph models list shows what there is'],
    ['graph:nobody', 'there is no graph "nobody"; GET /v1/models lists them'],
    ['graph:wether', 'there is no graph "wether"; did you mean "weather"?'],
    ['weather', 'there is no model "weather", and there is a graph; did you mean "graph:weather"?'],
  ])('answers 404 to the model %s', async (name, message) => {
    expect(await post({ ...chat, model: name })).toMatchObject({
      status: 404,
      body: { error: { param: 'model', code: 'model_not_found', message: expect.stringContaining(message) } },
    });
  });

  it('suggests the field of a misspelt one', async () => {
    expect(await post({ model, message: [user] })).toMatchObject({
      status: 400,
      body: { error: { param: 'message', message: 'message is not supported; did you mean "messages"?' } },
    });
  });

  it('says how to get a model that is not on disk, without requests that a client of this API has not', async () => {
    const name = 'Qwen3 4B (Q4_K_M)';
    const { models } = await readCatalogue(bundledPath('models.json'));
    const entry = models.get(name);
    const load = () => Promise.reject(entry ? fileMissingFault(entry) : new Error(`${name} is not in the catalogue`));
    const own = await startOwn({ engines: { 'llama-cpp': override(mockEngine(), { load }) } });
    const { status, body } = await post({ ...chat, model: name }, own);
    expect({ status, body }).toMatchObject({ status: 404, body: { error: { code: 'model_not_found' } } });
    expect(JSON.stringify(body)).toContain(`is not on disk; turngraph models download \\"${name}\\" gets it"`);
  });

  it('answers 503 when the model cannot be loaded', async () => {
    const load = () => Promise.reject(new Fault('MODEL_LOAD_FAILED', 'the file is damaged'));
    const own = await startOwn({ engines: { 'llama-cpp': override(mockEngine(), { load }) } });
    expect(await post(chat, own)).toMatchObject({
      status: 503,
      body: { error: { type: 'server_error', param: 'model', code: 'model_load_failed' } },
    });
  });

  it.each([1, 9])('answers 413 to a body that is larger than %i frames', async (count) => {
    expect(await post('x'.repeat(count * maxFrameBytes + 1))).toMatchObject({
      status: 413,
      body: { error: { code: 'body_too_large' } },
    });
  });

  it('reads a body that begins with a byte order mark', async () => {
    expect(await post(Buffer.from(`\uFEFF${JSON.stringify(chat)}`))).toMatchObject({ status: 200 });
  });

  it.each([
    ['a body that is no UTF-8', Buffer.from([0x22, 0xff, 0x22]), {}, 400, 'is not UTF-8'],
    ['a compressed body', gzipSync(JSON.stringify(chat)), { 'content-encoding': 'gzip' }, 415, '"gzip"'],
  ])('refuses %s', async (_, body, headers, status, reason) => {
    expect(await post(body, server(), { authorization, ...headers })).toMatchObject({
      status,
      body: { error: { message: expect.stringContaining(reason) } },
    });
  });

  it('takes escaped pairs, and backslashes before what looks like half of one', async () => {
    const content = String.raw`\\uD83D \ud83d\ude00`;
    expect(await post(JSON.stringify(chat).replace('hi', content))).toMatchObject({
      status: 200,
      body: { choices: [{ message: { content: expect.stringContaining('\\uD83D \u{1f600}') } }] },
    });
  });

  it('runs no turn of requests that were sent behind one after which it closes the connection', async () => {
    const engine = mockEngine();
    const own = await startOwn({ engines: { 'llama-cpp': engine } });
    const body = JSON.stringify(chat);
    const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n`;
    const socket = createConnection({ port: own.port, host: '127.0.0.1' });
    socket.write(`${head}${body}`.repeat(3));
    const [response = ''] = (await socket.toArray()).map(String);
    expect(response).toMatch(/^HTTP\/1.1 200 /);
    expect((await post(chat, own)).status).toBe(200);
    expect(engine.prompts).toHaveLength(2);
  });

  it.each([
    ['without the token', {}, 401, 'invalid_api_key'],
    ['with another token', { authorization: 'Bearer barley' }, 401, 'invalid_api_key'],
    ['from another origin', { authorization, origin: 'https://evil.example' }, 403, 'forbidden'],
  ])('refuses a request %s', async (_, headers, status, code) => {
    expect(await post(chat, server(), headers)).toMatchObject({ status, body: { error: { code, param: null } } });
  });

  it('refuses another host', async () => {
    const socket = createConnection({ port: server().port, host: '127.0.0.1' });
    onTestFinished(() => void socket.destroy());
    socket.write(`GET /v1/models HTTP/1.1\r\nHost: evil.example\r\nAuthorization: ${authorization}\r\n\r\n`);
    const [text] = await new Promise<readonly string[]>((done) =>
      socket.once('data', (data) => done([data.toString()])),
    );
    expect(text).toMatch(/^HTTP\/1.1 403 [^]*"code":"forbidden"/);
  });

  it.each([
    ['GET', '/v1/chat/completions', 405, 'method_not_allowed'],
    ['POST', '/v1/models', 405, 'method_not_allowed'],
    ['DELETE', '/v1/models/turngraph-demo', 405, 'method_not_allowed'],
    ['GET', '/v1/models/nobody', 404, 'model_not_found'],
    ['POST', '/v1/images/generations', 404, 'unknown_url'],
    ['GET', '/v1', 404, 'unknown_url'],
    ['PUT', '/v1/chat/completions', 405, 'method_not_allowed'],
    ['PATCH', '/v1/models', 405, 'method_not_allowed'],
    ['PUT', '/v1/threads/a/runs', 404, 'unknown_url'],
    ['GET', '/v1/models/', 404, 'unknown_url'],
  ])('answers %s %s with %i', async (method, path, status, code) => {
    const answer = await fetch(`http://127.0.0.1:${server().port}${path}`, { method, headers: { authorization } });
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ error: { code } });
  });

  it.each([
    ['POST', '/v1/chat/completions', JSON.stringify(chat), /^HTTP\/1.1 200 OK[^]*"content":"You said: hi"/],
    ['POST', '/v1/chat/completions', JSON.stringify({ ...chat, n: 2 }), /^HTTP\/1.1 400 [^]*"param":"n"/],
    ['GET', '/v1/models', '', /^HTTP\/1.1 200 OK[^]*"object":"list"/],
    ['GET', '/v1/nothing', '', /^HTTP\/1.1 404 [^]*"code":"unknown_url"/],
    ['PUT', '/v1/models', '', /^HTTP\/1.1 405 [^]*"code":"method_not_allowed"/],
  ])('answers %s %s of a client that offers HTTP/2', async (method, path, body, expected) => {
    const socket = createConnection({ port: server().port, host: '127.0.0.1' });
    const upgrade = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__'];
    const head = [`${method} ${path} HTTP/1.1`, 'Host: localhost', `Authorization: ${authorization}`, ...upgrade];
    // The body comes later, in two parts.
    socket.write([...head, `Content-Length: ${body.length}`, '', ''].join('\r\n'));
    await new Promise(setImmediate);
    socket.write(body.slice(0, 5));
    await new Promise(setImmediate);
    socket.write(body.slice(5));
    expect(Buffer.concat(await socket.toArray()).toString()).toMatch(expected);
  });

  it('counts requests by route and status', async () => {
    const own = await startOwn({});
    const url = `http://127.0.0.1:${own.port}`;
    await post(chat, own);
    await post({ ...chat, n: 2 }, own);
    for (const path of ['models', 'models', 'models/nobody', 'files']) await (await fetch(`${url}/v1/${path}`)).text();
    const scraped = parseScrape(await (await fetch(`${url}/metrics`)).text());
    const counts = (
      ['chat_completions 200', 'chat_completions 400', 'models 200', 'model 404', 'other 404'] as const
    ).map((labels) => {
      const [route = '', status = ''] = labels.split(' ');
      return [labels, scraped.value('turngraph_openai_requests_total', { route, status })];
    });
    expect(Object.fromEntries(counts)).toEqual({
      'chat_completions 200': 1,
      'chat_completions 400': 1,
      'models 200': 2,
      'model 404': 1,
      'other 404': 1,
    });
  });

  it('lets a page of an allowed origin ask and read', async () => {
    const url = `http://127.0.0.1:${server().port}/v1/chat/completions`;
    const asked = {
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type',
    };
    const preflight = await fetch(url, { method: 'OPTIONS', headers: { origin, ...asked } });
    expect(preflight.status).toBe(204);
    expect(Object.fromEntries(preflight.headers)).toMatchObject({
      'access-control-allow-origin': origin,
      'access-control-allow-headers': 'authorization,content-type',
    });
    expect((await post(chat, server(), { authorization, origin })).headers.get('access-control-allow-origin')).toBe(
      origin,
    );
    const foreign = await fetch(url, { method: 'OPTIONS', headers: { origin: 'https://evil.example', ...asked } });
    expect([foreign.status, foreign.headers.get('access-control-allow-origin')]).toEqual([403, null]);
  });

  it.each(['GET', 'POST', 'OPTIONS', 'DELETE'])('is not there without --openai: %s is 404', async (method) => {
    const own = await startOwn({ openai: false });
    for (const path of ['/v1/models', '/v1/chat/completions', '/v1'])
      expect((await fetch(`http://127.0.0.1:${own.port}${path}`, { method })).status).toBe(404);
  });

  it('answers 429 when too many requests come in a second', async () => {
    const own = await startOwn({ maxConnectionRate: 1 });
    expect((await post(chat, own)).status).toBe(200);
    expect(await post(chat, own)).toMatchObject({
      status: 429,
      body: { error: { type: 'rate_limit_error', code: 'rate_limit_exceeded' } },
    });
  });
});
