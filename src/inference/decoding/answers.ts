import type { Token } from 'node-llama-cpp';
import { answerMarkAfter, openedAtEnd, type ReplyMarks } from '../../chat/replyMarks.ts';
import { commonPrefixLength } from '../../base/commonPrefix.ts';

/**
 * What surrounds the text of an answer without reasoning, as the chat template writes it; "" = nothing. The opening closes
 * reasoning that the template has opened, and opens the answer; the closing is before the end of generation.
 */
export function answerFrame(prompt: string, marks: ReplyMarks): { readonly opening: string; readonly closing: string } {
  const { ending = '' } = openedAtEnd(prompt, marks) ?? {};
  return {
    opening: (prompt.endsWith('\n') ? ending.trimStart() : ending) + answerMarkAfter(prompt, marks),
    closing: marks.answer?.close ?? '',
  };
}

/** The position after some tokens of one or more answers. */
export interface AnswerNode {
  readonly next: Map<Token, AnswerNode>;
  /** Whether an answer ends here. */
  isEnd: boolean;
  /** Logarithms of the probabilities of the tokens that an answer continues with; undefined before they are evaluated. */
  logprobs: Map<Token, number> | undefined;
}

/** A prefix tree of answers: positions that several answers share are one node, and are evaluated once. */
export function createAnswerTree(answers: readonly (readonly Token[])[]): AnswerNode {
  const root = emptyNode();
  for (const tokens of answers) {
    let node = root;
    for (const token of tokens) {
      const next = node.next.get(token) ?? emptyNode();
      node.next.set(token, next);
      node = next;
    }
    node.isEnd = true;
  }
  return root;
}

const emptyNode = (): AnswerNode => ({ next: new Map(), isEnd: false, logprobs: undefined });

/** The positions of an answer: before its first token, between two tokens, and after the last one. */
export function nodesOf(answer: readonly Token[], root: AnswerNode): readonly AnswerNode[] {
  const nodes = [root];
  for (const token of answer) {
    const next = nodes.at(-1)?.next.get(token);
    if (!next) throw new Error('the answer is not in this tree');
    nodes.push(next);
  }
  return nodes;
}

/** Answers in an order in which each shares as much as possible with the one before it, and a longer one comes first. */
export const inTreeOrder = (answers: readonly (readonly Token[])[]): readonly (readonly Token[])[] =>
  answers.toSorted((a, b) => {
    const index = commonPrefixLength(a, b);
    return (b[index] ?? -1) - (a[index] ?? -1);
  });

/** The tokens after a position whose probabilities the scores of answers need. */
export const wantedTokens = ({ next, isEnd }: AnswerNode, endTokens: readonly Token[]): readonly Token[] => [
  ...next.keys(),
  ...(isEnd ? endTokens : []),
];

/** Of the smallest positive 32-bit float: a probability that is too small to be measured counts as this. */
export const smallestLogprob = Math.log(2 ** -149);

/** The logarithms of the probabilities of answers in an evaluated tree, each with its end of generation. */
export function scoresOf(
  answers: readonly (readonly Token[])[],
  root: AnswerNode,
  endTokens: readonly Token[],
): readonly number[] {
  return answers.map((tokens) => {
    const nodes = nodesOf(tokens, root);
    const logprob = (index: number, token: Token): number =>
      Math.max(smallestLogprob, nodes[index]?.logprobs?.get(token) ?? smallestLogprob);
    const text = tokens.reduce((sum, token, index) => sum + logprob(index, token), 0);
    // The replies of a model without such a token never end by themselves: then answers are compared by their text.
    if (endTokens.length === 0) return text;
    return text + Math.log(endTokens.reduce((sum, token) => sum + Math.exp(logprob(tokens.length, token)), 0));
  });
}
