import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** What a scripted server does with a request: a path of llama-server, and the number of requests to it so far, from 1. */
export type ServerScript = (path: string, nth: number, response: ServerResponse) => boolean;

/** A server that speaks the API of llama-server without a model: each character is a token, and its answer is always "Yes.". */
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
  /** Bodies of the requests to /completion. */
  readonly completions: Readonly<Record<string, unknown>>[];
  /** Completions whose client has gone before the end. */
  readonly cancelled: number[];
  /** Ends it as a crash would: all connections break. */
  kill(): void;
}

const control = ['<|im_start|>', '<|im_end|>'];
const characters = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
const vocabulary = [...control, ...characters];
const template =
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

/** Answers with an error status. */
export function sendError(response: ServerResponse, status: number, message: string, headers: object = {}): true {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ error: { message } }));
  return true;
}

export async function startScriptedServer(): Promise<ScriptedServer> {
  const sockets = new Set<Socket>();
  const server = createServer(async (request, response) => {
    const path = request.url ?? '';
    const nth = (scripted.counts.get(path) ?? 0) + 1;
    scripted.counts.set(path, nth);
    scripted.keys.push(request.headers.authorization);
    const body = await readBody(request);
    if (path === '/completion') scripted.completions.push(body);
    response.on('close', () => {
      if (path === '/completion' && !response.writableEnded) scripted.cancelled.push(nth);
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
      chat_template: template,
      bos_token: '',
      eos_token: '<|im_end|>',
      build_info: 'b1',
      model_alias: 'scripted',
      ...props,
    });
  if (path === '/v1/models') return send({ data: [{ id: 'scripted', meta: { n_vocab: vocabulary.length } }] });
  if (path === '/tokenize') {
    const { content, parse_special: special } = body;
    if (typeof content === 'string') return send({ tokens: tokenize(content, special !== false) });
    return send({ tokens: (content as readonly number[]).map((id) => ({ id, piece: vocabulary[id] })) });
  }
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
