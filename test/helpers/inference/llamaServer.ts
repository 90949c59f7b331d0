import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Token } from 'node-llama-cpp';
import { DemoModel, type DemoSlot } from './demoModel.ts';

/** What a test server was asked for, and what it has computed. */
export interface InferenceLog {
  /** Bodies of the requests to /completion. */
  readonly completions: Record<string, unknown>[];
  /** Tokens of each, and of those the tokens that were computed after the client had gone. */
  readonly computed: { tokens: number; afterClose: number }[];
  /** Tokens that the requests have together, prompts included, and the most so far. */
  cells: number;
  mostCells: number;
  /** Bodies of the requests that set the scales of LoRA adapters. */
  readonly loraScales: unknown[];
}

/** A server that speaks the API of llama-server over the demo model. */
export interface TestLlamaServer extends AsyncDisposable {
  readonly url: string;
  readonly log: InferenceLog;
}

export interface TestLlamaServerOptions {
  readonly slots?: number;
  /** Tokens of each slot. */
  readonly contextSize?: number;
  /** Refuses requests without this key. */
  readonly apiKey?: string;
}

export async function startLlamaServer({
  slots = 2,
  contextSize = 1024,
  apiKey,
}: TestLlamaServerOptions = {}): Promise<TestLlamaServer> {
  const model = await DemoModel.load(slots, contextSize);
  const log: InferenceLog = { completions: [], computed: [], cells: 0, mostCells: 0, loraScales: [] };
  const { weights } = model;
  const { tokens: spellings } = weights.fileInfo.metadata.tokenizer.ggml;
  const bosToken = weights.tokens.shouldPrependBosToken ? weights.tokens.bos : null;
  const handlers: Readonly<Record<string, (body: Body, response: ServerResponse) => unknown>> = {
    '/props': () => ({
      default_generation_settings: { n_ctx: contextSize },
      total_slots: slots,
      model_alias: 'demo',
      chat_template: weights.fileInfo.metadata.tokenizer.chat_template,
      bos_token: weights.tokens.bosString ?? '',
      eos_token: weights.tokens.eosString ?? '',
      build_info: 'test',
    }),
    '/slots': () => model.slots.map(({ isBusy }) => ({ is_processing: isBusy })),
    '/v1/models': () => ({ data: [{ id: 'demo', meta: { n_vocab: spellings.length, n_ctx: contextSize } }] }),
    '/tokenize'({ content, parse_special: special = true, add_special: withBos = false, with_pieces: withPieces }) {
      const tokens =
        typeof content === 'string' ? weights.tokenize(content, special === true) : (content as readonly Token[]);
      const all = withBos === true && bosToken !== null ? [bosToken, ...tokens] : tokens;
      return { tokens: withPieces ? all.map((id) => ({ id, piece: weights.detokenize([id], true) })) : all };
    },
    '/lora-adapters'(body) {
      log.loraScales.push(body);
      return { success: true };
    },
    '/completion': (body, response) => complete(model, body, response, log),
  };
  const server = createServer(async (request, response) => {
    try {
      const body = await readBody(request);
      if (apiKey !== undefined && request.headers.authorization !== `Bearer ${apiKey}`)
        return void sendJson(response, 401, { error: { message: 'Invalid API Key', type: 'authentication_error' } });
      const path = new URL(request.url ?? '', 'http://localhost').pathname;
      const result = await handlers[path]?.(body, response);
      if (!response.headersSent)
        sendJson(response, result ? 200 : 404, result ?? { error: { message: 'File Not Found' } });
    } catch (error) {
      if (response.headersSent) response.destroy();
      else sendJson(response, 500, { error: { message: String(error) } });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    log,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await Promise.all(model.slots.map((slot) => slot.exclusive(async () => undefined)));
      await model[Symbol.asyncDispose]();
    },
  };
}

/** The real one notices a closed connection late, too. */
const noticeMs = 30;

type Body = Readonly<Record<string, unknown>>;

async function complete(model: DemoModel, body: Body, response: ServerResponse, log: InferenceLog): Promise<void> {
  const computed = { tokens: 0, afterClose: 0 };
  log.completions.push(body);
  log.computed.push(computed);
  const index = body['id_slot'] as number;
  const idle = model.slots.find(({ isBusy }) => !isBusy) ?? model.slots[0];
  const slot = index < 0 ? idle : model.slots[index % model.slots.length];
  if (!slot) throw new Error('no slot');
  let cells = 0;
  const use = (tokens: number): void => {
    cells += tokens;
    log.cells += tokens;
    log.mostCells = Math.max(log.mostCells, log.cells);
  };
  await slot.exclusive(async () => {
    if (response.destroyed) return;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    use((body['prompt'] as readonly Token[]).length);
    try {
      for await (const event of events(model, slot, body)) {
        if (event['stop'] === false) {
          computed.tokens++;
          use(1);
        }
        if (response.destroyed) {
          computed.afterClose++;
          return await sleep(noticeMs);
        }
        response.write(`data: ${JSON.stringify(event)}\n\n`);
      }
    } finally {
      use(-cells);
    }
    response.end();
  });
}

async function* events(model: DemoModel, slot: DemoSlot, body: Body): AsyncGenerator<Record<string, unknown>> {
  const prompt = body['prompt'] as readonly Token[];
  const reused = await slot.reuse(prompt);
  const timings = { cache_n: reused, prompt_n: prompt.length - reused };
  const maxTokens = body['n_predict'] as number;
  yield { content: '', tokens: [], prompt_progress: { total: prompt.length, cache: reused, processed: reused } };
  const end = { content: '', tokens: [], stop: true, timings };
  if (maxTokens === 0) {
    await slot.prefill(prompt, reused);
    return void (yield { ...end, stop_type: 'limit' });
  }
  const biases = (body['logit_bias'] ?? []) as readonly (readonly [Token, number])[];
  const probabilities = body['n_probs'];
  // Of a token that is forced.
  if (biases[0]?.[1] === 1000 && probabilities !== undefined) {
    const [[id]] = biases;
    const logprob = Math.log(Math.max(await slot.probability(prompt, reused, id), Number.MIN_VALUE));
    const completion_probabilities = [{ id, logprob, top_logprobs: [] }];
    yield { content: '', tokens: [id], tokens_predicted: 1, stop: false, completion_probabilities };
    return void (yield { ...end, stop_type: 'limit' });
  }
  const number = (key: string): number => (typeof body[key] === 'number' ? body[key] : 0);
  const sampling = {
    temperature: number('temperature'),
    top_k: number('top_k'),
    top_p: number('top_p'),
    min_p: number('min_p'),
    repeat_penalty: number('repeat_penalty'),
    presence_penalty: number('presence_penalty'),
    frequency_penalty: number('frequency_penalty'),
    seed: number('seed'),
    xtc: { probability: number('xtc_probability'), threshold: number('xtc_threshold') },
    dry: {
      multiplier: number('dry_multiplier'),
      base: number('dry_base'),
      allowed_length: number('dry_allowed_length'),
      penalty_last_n: number('dry_penalty_last_n'),
      sequence_breakers: (body['dry_sequence_breakers'] ?? []) as readonly string[],
    },
  };
  const request = {
    prompt,
    maxTokens,
    sampling,
    biases,
    ...(typeof body['grammar'] === 'string' && { grammar: body['grammar'] }),
  };
  const { weights } = model;
  let pending: Token[] = [];
  let preceding = prompt.slice(-3);
  let count = 0;
  for await (const token of slot.generate(request, reused)) {
    count++;
    pending.push(token);
    const isEnd = weights.isEogToken(token);
    const content = weights.detokenize(pending, false, preceding);
    // Parts of a character are not sent.
    if (content.endsWith('\uFFFD') && !isEnd && pending.length < 4) continue;
    preceding = [...preceding, ...pending].slice(-3);
    pending = [];
    const { candidates = new Map<Token, number>() } = slot;
    const listed = [...candidates].map(([id, probability]) => ({ id, logprob: Math.log(probability) }));
    const own = { id: token, logprob: Math.log(candidates.get(token) ?? Number.MIN_VALUE) };
    yield {
      content,
      tokens: [token],
      tokens_predicted: count,
      stop: false,
      ...(typeof probabilities === 'number' && {
        completion_probabilities: [{ ...own, top_logprobs: listed.slice(0, probabilities) }],
      }),
    };
    if (isEnd) return void (yield { ...end, stop_type: 'eos' });
  }
  yield { ...end, stop_type: 'limit' };
}

async function readBody(request: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  return text === '' ? {} : (JSON.parse(text) as Body);
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
