import type { Token } from '../../decoding/token.ts';
import { createAnswerTree, inTreeOrder, nodesOf, type AnswerNode } from '../../decoding/answerTree.ts';
import { greedySampling } from '../inferenceServer.ts';
import type { SlotLease } from './remoteRunner.ts';

/** Probabilities that are asked for with each token; those of wanted tokens beyond them are asked for one by one. */
const likeliestTokens = 50;
/** Of the smallest positive 32-bit float: a probability that is too small to be measured counts as this. */
const smallestLogprob = Math.log(2 ** -149);

export interface RemoteScoring {
  /** The tokens before the answers; at least one. */
  readonly context: readonly Token[];
  readonly answers: readonly (readonly Token[])[];
  /** The end of generation tokens. */
  readonly endTokens: readonly Token[];
  /** Called with the tokens of each request that were in the KV cache. */
  readonly onReused: (tokens: number) => void;
  /** Whether the scoring is to wait: it begins again later. */
  readonly shouldPause: () => boolean;
}

/**
 * The logarithms of the probabilities of answers after a context, each with its end of generation. Each position of the tree of
 * answers is one request for one token, of which the server reports the probability.
 */
export async function scoreRemotely(
  { context, answers, endTokens, onReused, shouldPause }: RemoteScoring,
  { endpoint, slot, signal }: SlotLease,
): Promise<readonly number[] | 'paused'> {
  const root = createAnswerTree(answers);
  const known = new Map<AnswerNode, Map<Token, number>>();
  for (const answer of inTreeOrder(answers)) {
    for (const [index, node] of nodesOf(answer, root).entries()) {
      const logprobs = known.get(node) ?? new Map<Token, number>();
      known.set(node, logprobs);
      const wanted = [...node.next.keys(), ...(node.isEnd ? endTokens : [])];
      const prompt = [...context, ...answer.slice(0, index)];
      for (let next; (next = wanted.find((token) => !logprobs.has(token))) !== undefined;) {
        if (shouldPause()) return 'paused';
        slot.tokens = prompt;
        const request = {
          prompt,
          slot: slot.id,
          maxTokens: 1,
          sampling: greedySampling,
          seed: 0,
          probabilities: { of: next, likeliest: likeliestTokens },
        };
        for await (const part of endpoint.server.complete(request, signal)) {
          if (part.reused !== undefined) onReused(part.reused);
          for (const [token, logprob] of part.logprobs ?? []) logprobs.set(token as Token, logprob);
        }
        // A server that does not report it has given it no probability.
        if (!logprobs.has(next)) logprobs.set(next, smallestLogprob);
      }
    }
  }
  return answers.map((answer) => {
    const nodes = nodesOf(answer, root);
    const logprob = (index: number, token: Token): number => {
      const node = nodes[index];
      return Math.max(smallestLogprob, (node && known.get(node)?.get(token)) ?? smallestLogprob);
    };
    const text = answer.reduce((sum, token, index) => sum + logprob(index, token), 0);
    if (endTokens.length === 0) return text;
    const end = endTokens.reduce((sum, token) => sum + Math.exp(logprob(answer.length, token)), 0);
    return text + Math.max(smallestLogprob, Math.log(end));
  });
}
