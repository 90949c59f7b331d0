import { isObject } from '../../../base/jsonTypes.ts';
import type { Token } from '../../decoding/tokenizer.ts';
import type { RemoteCompletionEnd, RemoteCompletionPart } from '../inferenceServer.ts';
import { completionPath } from './openAiRequest.ts';
import type { ServerJson, ServerObject } from '../connection/serverJson.ts';
import type { Vocabulary } from '../vocabulary.ts';

/** Reads the events of one completion. An event may have several tokens, and the text of a character comes with its last token. */
export class OpenAiEvents {
  readonly #json: ServerJson;
  readonly #vocabulary: Vocabulary;
  /** Tokens whose text has not come yet. */
  #pending: readonly Token[] = [];
  #end: RemoteCompletionEnd | undefined;

  constructor(json: ServerJson, vocabulary: Vocabulary) {
    this.#json = json;
    this.#vocabulary = vocabulary;
  }

  *read(event: ServerObject): Generator<RemoteCompletionPart> {
    const { choices, usage } = event;
    if (!Array.isArray(choices)) throw this.#json.malformed(completionPath, 'an event has no choices');
    // The last event has none: it reports what was used.
    const [choice] = choices as readonly unknown[];
    if (isObject(choice)) {
      const { text, token_ids: ids, finish_reason: reason } = choice;
      if (typeof text !== 'string') throw this.#json.malformed(completionPath, 'a choice has no text');
      const tokens = Array.isArray(ids) ? (ids as readonly Token[]) : undefined;
      if (reason !== null && reason !== undefined) this.#end = this.#endOf(reason);
      const logprobs = readLogprobs(choice['logprobs']);
      const parts = tokens ? this.#withTokens(text, tokens) : this.#withoutTokens(text);
      for (const part of parts) yield { ...part, logprobs };
    }
    const details = isObject(usage) ? usage['prompt_tokens_details'] : undefined;
    const reused = isObject(details) ? details['cached_tokens'] : undefined;
    if (typeof reused === 'number') yield { text: '', tokens: [], count: 0, reused };
  }

  /** Why the completion ended. @throws ServerFault when it did not. */
  end(): RemoteCompletionEnd {
    if (this.#end) return this.#end;
    throw this.#json.brokenOff();
  }

  #endOf(reason: unknown): RemoteCompletionEnd {
    if (reason === 'stop') return 'eos';
    if (reason === 'length') return 'limit';
    throw this.#json.malformed(completionPath, `it ends for an unknown reason: ${String(reason)}`);
  }

  *#withTokens(text: string, tokens: readonly Token[]): Generator<RemoteCompletionPart> {
    const { isControl } = this.#vocabulary;
    let rest = text;
    for (const token of tokens) {
      if (!isControl(token)) {
        this.#pending = [...this.#pending, token];
        continue;
      }
      const spelling = this.#vocabulary.controlSpelling(token);
      const at = rest.indexOf(spelling);
      // The end of generation token has no text.
      yield* this.#flush(at < 0 ? rest : rest.slice(0, at));
      rest = at < 0 ? '' : rest.slice(at + spelling.length);
      yield { text: spelling, tokens: [token], count: 1 };
    }
    yield* this.#flush(rest);
  }

  *#flush(text: string): Generator<RemoteCompletionPart> {
    if (text === '') return;
    const tokens = this.#pending;
    this.#pending = [];
    yield { text, tokens, count: Math.max(1, tokens.length) };
  }

  /** A server that sends no ids writes control tokens as text. */
  *#withoutTokens(text: string): Generator<RemoteCompletionPart> {
    let end = 0;
    for (const span of this.#vocabulary.controlTokens.find(text)) {
      if (span.start > end) yield { text: text.slice(end, span.start), tokens: [], count: 1 };
      const spelling = text.slice(span.start, span.end);
      const token = this.#vocabulary.controlToken(spelling);
      yield { text: spelling, tokens: token === undefined ? [] : [token], count: 1 };
      ({ end } = span);
    }
    if (end < text.length) yield { text: text.slice(end), tokens: [], count: 1 };
  }
}

/** The logarithms of probabilities of the first token of a choice, by token id; empty where the server names them by text. */
export function readLogprobs(logprobs: unknown): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  if (!isObject(logprobs)) return found;
  const { tokens, token_logprobs: own, top_logprobs: top } = logprobs;
  const [likeliest] = Array.isArray(top) ? (top as readonly unknown[]) : [];
  const entries = isObject(likeliest) ? Object.entries(likeliest) : [];
  const [name] = Array.isArray(tokens) ? (tokens as readonly unknown[]) : [];
  const [logprob] = Array.isArray(own) ? (own as readonly unknown[]) : [];
  for (const [token, value] of [...entries, [name, logprob] as const]) {
    const id = /^token_id:(\d+)$/.exec(String(token))?.[1];
    if (id !== undefined && typeof value === 'number') found.set(Number(id), value);
  }
  return found;
}
