import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/**
 * What a scripted server does with a request: a path, and the number of requests to it so far, from 1. Completions that are not
 * streamed, by which abilities are tried, have the path "probe".
 */
export type ServerScript = (path: string, nth: number, response: ServerResponse) => boolean;

/**
 * A server that speaks the API of llama-server, and that of vLLM, without a model: each character is a token, and its answer is
 * always "Yes.".
 */
export interface ScriptedServer extends AsyncDisposable {
  readonly url: string;
  /** What it does instead; false: as usual. */
  script: ServerScript;
  /** What /props says instead of the usual. */
  props: object;
  /** Number of requests to each path. */
  readonly counts: Map<string, number>;
  /** Authorization headers. */
  readonly keys: (string | undefined)[];
  /** Bodies of the requests for streamed completions. */
  readonly completions: Readonly<Record<string, unknown>>[];
  /** Completions whose client has gone before the end. */
  readonly cancelled: number[];
  /** Ends it as a crash would: all connections break. */
  kill(): void;
}

const control = ['<|im_start|>', '<|im_end|>'];
const characters = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
const vocabulary = [...control, ...characters];
/** Chat template of the model. */
export const scriptedTemplate =
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}" +
  "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

const tokenize = (text: string, special: boolean): readonly number[] =>
  (special ? text.split(/(<\|im_start\|>|<\|im_end\|>)/) : [text]).flatMap((part) =>
    special && control.includes(part)
      ? [control.indexOf(part)]
      : [...part].map((character) => control.length + ((character.codePointAt(0) ?? 0) % 128)),
  );

/** Writes one event of a stream. */
export const writeEvent = (response: ServerResponse, event: object): void =>
  void response.write(`data: ${JSON.stringify(event)}\n\n`);

/** The event of one character. */
export const characterEvent = (character: string, nth: number): object => ({
  content: character,
  tokens: tokenize(character, false),
  tokens_predicted: nth,
  stop: false,
});

/** The event of one character in the API of vLLM. */
export const choiceEvent = (character: string): object => ({
  choices: [{ text: character, token_ids: tokenize(character, false), finish_reason: null }],
});

function writeChoices(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const character of 'Yes.') writeEvent(response, choiceEvent(character));
  writeEvent(response, { choices: [{ text: '', token_ids: [1], finish_reason: 'stop' }] });
  writeEvent(response, { choices: [], usage: { prompt_tokens: 9, prompt_tokens_details: { cached_tokens: 0 } } });
  response.end('data: [DONE]\n\n');
}

/** It follows grammars, and reports two probabilities whatever the bias. */
function probeAnswer({ structured_outputs: constraint, logit_bias: bias }: Readonly<Record<string, unknown>>): object {
  const likeliest = { 'token_id:5': -0.1, 'token_id:6': -2.5 };
  const logprobs = bias
    ? { tokens: ['token_id:6'], token_logprobs: [-2.5], top_logprobs: [likeliest] }
    : { tokens: ['token_id:5'], token_logprobs: [-0.1], top_logprobs: [likeliest] };
  return { text: constraint ? '#7Q' : 'x', finish_reason: 'length', logprobs };
}

/** Answers with an error status. */
export function sendError(response: ServerResponse, status: number, message: string, headers: object = {}): true {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ error: { message } }));
  return true;
}

export async function startScriptedServer(): Promise<ScriptedServer> {
  const sockets = new Set<Socket>();
  const server = createServer(async (request, response) => {
    scripted.keys.push(request.headers.authorization);
    const body = await readBody(request);
    const url = request.url ?? '';
    const path = url === '/v1/completions' && body['stream'] !== true ? 'probe' : url;
    const isCompletion = path === '/completion' || path === '/v1/completions';
    const nth = (scripted.counts.get(path) ?? 0) + 1;
    scripted.counts.set(path, nth);
    if (isCompletion) scripted.completions.push(body);
    response.on('close', () => {
      if (isCompletion && !response.writableEnded) scripted.cancelled.push(nth);
    });
    if (!scripted.script(path, nth, response)) answer(path, body, response, scripted.props);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const kill = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  const scripted: ScriptedServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    script: () => false,
    props: {},
    counts: new Map(),
    keys: [],
    completions: [],
    cancelled: [],
    kill,
    async [Symbol.asyncDispose]() {
      kill();
    },
  };
  return scripted;
}

function answer(path: string, body: Readonly<Record<string, unknown>>, response: ServerResponse, props: object): void {
  const send = (value: object): void => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(value));
  };
  if (path === '/props')
    return send({
      default_generation_settings: { n_ctx: 512 },
      total_slots: 2,
      chat_template: scriptedTemplate,
      bos_token: '',
      eos_token: '<|im_end|>',
      build_info: 'b1',
      model_alias: 'scripted',
      ...props,
    });
  if (path === '/v1/models')
    return send({ data: [{ id: 'scripted', meta: { n_vocab: vocabulary.length }, max_model_len: 512, ...props }] });
  if (path === 'probe') return send({ choices: [probeAnswer(body)] });
  if (path === '/tokenize') {
    const { content, prompt, parse_special: special } = body;
    if (typeof prompt === 'string') return send({ tokens: tokenize(prompt, true) });
    if (typeof content === 'string') return send({ tokens: tokenize(content, special !== false) });
    return send({ tokens: (content as readonly number[]).map((id) => ({ id, piece: vocabulary[id] })) });
  }
  if (path === '/v1/completions') return writeChoices(response);
  if (path !== '/completion') return void sendError(response, 404, 'Not Found');
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  [...'Yes.'].forEach((character, index) => writeEvent(response, characterEvent(character, index + 1)));
  writeEvent(response, { content: '', tokens: [1], tokens_predicted: 5, stop: false });
  writeEvent(response, { content: '', tokens: [], stop: true, stop_type: 'eos', timings: { cache_n: 0 } });
  response.end();
}

async function readBody(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  return text === '' ? {} : (JSON.parse(text) as Readonly<Record<string, unknown>>);
}
