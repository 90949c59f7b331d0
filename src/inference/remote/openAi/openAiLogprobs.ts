import { isObject } from '../../../base/jsonTypes.ts';

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
