import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Token } from 'node-llama-cpp';
import { DemoModel, type DemoSlot } from './demoModel.ts';
import type { InferenceLog } from './llamaServer.ts';

/** A server that speaks the completion API of vLLM over the demo model. */
export interface TestOpenAiServer extends AsyncDisposable {
  readonly url: string;
  readonly log: InferenceLog;
  /** Chat template of the model, which the server does not tell. */
  readonly chatTemplate: string;
  /** Ids of the control tokens of the model. */
  readonly controlTokens: ReadonlySet<number>;
}

export interface TestOpenAiServerOptions {
  readonly slots?: number;
  /** Tokens of each sequence. */
  readonly contextSize?: number;
  /** Refuses requests without this key. */
  readonly apiKey?: string;
  /** Whether it has /tokenize and /detokenize. */
  readonly tokenizes?: boolean;
  /** Whether it has /tokenizer_info. */
  readonly tellsControlTokens?: boolean;
  /** The field with a grammar. */
  readonly grammarField?: 'structured_outputs' | 'ebnf' | 'none';
  /** Whether events have the ids of tokens. */
  readonly sendsIds?: boolean;
  /** Whether the probabilities that it reports include logit_bias, as those of SGLang do. */
  readonly biasesLogprobs?: boolean;
}

type Body = Readonly<Record<string, unknown>>;

export async function startOpenAiServer(options: TestOpenAiServerOptions = {}): Promise<TestOpenAiServer> {
  const { slots = 2, contextSize = 1024, apiKey, tokenizes = true, tellsControlTokens = true } = options;
  const model = await DemoModel.load(slots, contextSize);
  const log: InferenceLog = { completions: [], computed: [], cells: 0, mostCells: 0, loraScales: [] };
  const { weights } = model;
  const { ggml, chat_template: chatTemplate = '' } = weights.fileInfo.metadata.tokenizer;
  const bos = weights.tokens.shouldPrependBosToken ? weights.tokens.bos : null;
  const controlTokens = ggml.tokens.map((content, id) => ({ content, special: ggml.token_type?.[id] === controlType }));
  const handlers: Readonly<Record<string, (body: Body, response: ServerResponse) => unknown>> = {
    '/v1/models': () => ({ data: [{ id: 'demo', root: 'demo.gguf', max_model_len: contextSize }] }),
    '/version': () => ({ version: 'test' }),
    '/v1/completions': (body, response) => complete(model, body, response, { log, ...options }),
    ...(tokenizes && {
      // As the tokenizers of Hugging Face do: it reads control strings in every text.
      '/tokenize'({ prompt, add_special_tokens: withBos = true }: Body) {
        const tokens = weights.tokenize(String(prompt), true);
        const all = withBos === true && bos !== null ? [bos, ...tokens] : tokens;
        return { count: all.length, max_model_len: contextSize, tokens: all };
      },
      '/detokenize': ({ tokens }: Body) => ({ prompt: weights.detokenize(tokens as readonly Token[], true) }),
    }),
    ...(tellsControlTokens && {
      '/tokenizer_info': () => ({
        // As vLLM does: the strings of added tokens, without their kind.
        added_tokens_decoder: {
          ...Object.fromEntries(controlTokens.flatMap(({ content, special }, id) => (special ? [[id, content]] : []))),
          [controlTokens.length]: '<b>',
        },
        bos_token: weights.tokens.bosString ?? null,
        eos_token: { content: weights.tokens.eosString ?? '' },
      }),
    }),
  };
  const server = createServer(async (request, response) => {
    try {
      const body = await readBody(request);
      if (apiKey !== undefined && request.headers.authorization !== `Bearer ${apiKey}`)
        return void sendJson(response, 401, { error: { message: 'Unauthorized' } });
      const path = new URL(request.url ?? '', 'http://localhost').pathname;
      const result = await handlers[path]?.(body, response);
      if (!response.headersSent) sendJson(response, result ? 200 : 404, result ?? { detail: 'Not Found' });
    } catch (error) {
      if (response.headersSent) response.destroy();
      else sendJson(response, 400, { error: { message: String(error) } });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    log,
    chatTemplate,
    controlTokens: new Set(controlTokens.flatMap(({ special }, id) => (special ? [id] : []))),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await Promise.all(model.slots.map((slot) => slot.exclusive(async () => undefined)));
      await model[Symbol.asyncDispose]();
    },
  };
}

const controlType = 3;

interface CompletionSettings extends TestOpenAiServerOptions {
  readonly log: InferenceLog;
}

async function complete(
  model: DemoModel,
  body: Body,
  response: ServerResponse,
  settings: CompletionSettings,
): Promise<object | undefined> {
  const { log } = settings;
  const computed = { tokens: 0, afterClose: 0 };
  const written = body['prompt'];
  const prompt = typeof written === 'string' ? model.weights.tokenize(written, true) : (written as readonly Token[]);
  log.completions.push({ ...body, prompt });
  log.computed.push(computed);
  const slot = choose(model.slots, prompt);
  const streamed = body['stream'] === true;
  const whole = { text: '', logprobs: null as unknown };
  await slot.exclusive(async () => {
    if (response.destroyed) return;
    if (streamed) response.writeHead(200, { 'content-type': 'text/event-stream' });
    for await (const event of events({ model, slot, body, prompt }, settings)) {
      const [choice] = event.choices;
      if (choice) computed.tokens += choice.token_ids.length;
      whole.text += choice?.text ?? '';
      whole.logprobs ??= choice?.logprobs;
      if (response.destroyed) {
        computed.afterClose += choice?.token_ids.length ?? 0;
        return;
      }
      if (streamed)
        response.write(`data: ${JSON.stringify(settings.sendsIds === false ? withoutIds(event) : event)}\n\n`);
    }
    if (streamed) response.end('data: [DONE]\n\n');
  });
  return streamed ? undefined : { choices: [whole] };
}

/** The slot that holds most of a prompt, of those that are idle. */
function choose(slots: readonly DemoSlot[], prompt: readonly Token[]): DemoSlot {
  const idle = slots.filter(({ isBusy }) => !isBusy);
  const [best] = (idle.length > 0 ? idle : slots).toSorted((a, b) => b.shared(prompt) - a.shared(prompt));
  if (!best) throw new Error('no slot');
  return best;
}

interface Choice {
  readonly text: string;
  readonly token_ids: readonly Token[];
  readonly finish_reason: 'stop' | 'length' | null;
  readonly logprobs?: unknown;
}

interface CompletionEvent {
  readonly choices: readonly Choice[];
  readonly usage?: object;
}

const withoutIds = ({ choices, ...rest }: CompletionEvent): object => ({
  ...rest,
  choices: choices.map((choice) => ({ ...choice, token_ids: undefined })),
});

async function* events(
  {
    model,
    slot,
    body,
    prompt,
  }: { readonly model: DemoModel; readonly slot: DemoSlot; readonly body: Body; readonly prompt: readonly Token[] },
  { grammarField = 'structured_outputs', biasesLogprobs = false }: CompletionSettings,
): AsyncGenerator<CompletionEvent> {
  const { weights } = model;
  const reused = await slot.reuse(prompt);
  const biases = (body['logit_bias'] ?? {}) as Readonly<Record<string, number>>;
  const number = (key: string): number => (typeof body[key] === 'number' ? body[key] : 0);
  const usage = { prompt_tokens: prompt.length, prompt_tokens_details: { cached_tokens: reused } };
  if (typeof body['logprobs'] === 'number' && body['max_tokens'] === 1) {
    const probabilities = await slot.allProbabilities(prompt, reused);
    const likeliest = [...probabilities].sort(([, a], [, b]) => b - a).slice(0, body['logprobs']);
    const [forced] = Object.keys(biases).map(Number);
    const id = (forced ?? likeliest[0]?.[0] ?? 0) as Token;
    const logprob = biasesLogprobs && forced !== undefined ? 0 : logarithm(probabilities.get(id) ?? 0);
    const logprobs = {
      tokens: [`token_id:${id}`],
      token_logprobs: [logprob],
      top_logprobs: [Object.fromEntries(likeliest.map(([token, p]) => [`token_id:${token}`, logarithm(p)]))],
    };
    yield { choices: [{ text: weights.detokenize([id], true), token_ids: [id], finish_reason: 'length', logprobs }] };
    return void (yield { choices: [], usage });
  }
  const field = body[grammarField];
  const grammar = typeof field === 'object' && field !== null && 'grammar' in field ? field.grammar : field;
  const request = {
    prompt,
    maxTokens: number('max_tokens'),
    biases: Object.entries(biases).map(([token, bias]) => [Number(token) as Token, bias] as const),
    sampling: {
      temperature: number('temperature'),
      top_k: Math.max(0, number('top_k')),
      top_p: number('top_p') || 1,
      min_p: number('min_p'),
      repeat_penalty: number('repetition_penalty') || 1,
      presence_penalty: number('presence_penalty'),
      frequency_penalty: number('frequency_penalty'),
      seed: number('seed'),
    },
    ...(typeof grammar === 'string' && { grammar }),
  };
  let pending: Token[] = [];
  let preceding = prompt.slice(-3);
  let end: 'stop' | 'length' = 'length';
  for await (const token of slot.generate(request, reused)) {
    if (weights.isEogToken(token)) {
      end = 'stop';
      yield { choices: [{ text: '', token_ids: [token], finish_reason: 'stop' }] };
      break;
    }
    pending.push(token);
    const text = weights.detokenize(pending, true, preceding);
    const isWhole = !text.endsWith('\uFFFD') || pending.length >= 4;
    const { candidates = new Map<Token, number>() } = slot;
    const named = [...candidates].map(([id, p]) => [`token_id:${id}`, logarithm(p)] as const);
    const logprobs = {
      tokens: [`token_id:${token}`],
      token_logprobs: [logarithm(candidates.get(token) ?? 0)],
      top_logprobs: [Object.fromEntries(named.slice(0, number('logprobs')))],
    };
    const told = number('logprobs') > 0 && { logprobs };
    yield { choices: [{ text: isWhole ? text : '', token_ids: [token], finish_reason: null, ...told }] };
    if (!isWhole) continue;
    preceding = [...preceding, ...pending].slice(-3);
    pending = [];
  }
  if (end === 'length') yield { choices: [{ text: '', token_ids: [], finish_reason: 'length' }] };
  yield { choices: [], usage };
}

const logarithm = (probability: number): number => Math.log(Math.max(probability, Number.MIN_VALUE));

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
