import type { Token } from 'node-llama-cpp';
import { answerMarkAfter, openedAtEnd, type ReplyMarks } from '../../chat/replyMarks.ts';
import { commonPrefixLength } from '../../base/commonPrefix.ts';

/** What surrounds the text of an answer in the model's reply to a prompt. */
interface AnswerFrame {
  /** Closes reasoning that the chat template has opened, and opens the answer; "" = nothing. */
  readonly opening: string;
  /** Closes the answer, before the end of generation; "" = nothing. */
  readonly closing: string;
}

/** The frame of an answer without reasoning, as the chat template writes it. */
export function answerFrame(prompt: string, marks: ReplyMarks): AnswerFrame {
  const { ending = '' } = openedAtEnd(prompt, marks) ?? {};
  return {
    opening: (prompt.endsWith('\n') ? ending.trimStart() : ending) + answerMarkAfter(prompt, marks),
    closing: marks.answer?.close ?? '',
  };
}

/** The position after some tokens of one or more answers. */
export interface AnswerNode {
  readonly next: ReadonlyMap<Token, AnswerNode>;
  /** Whether an answer ends here. */
  readonly isEnd: boolean;
  /** The probabilities of the tokens that an answer continues with; undefined before they are evaluated. */
  probabilities: ReadonlyMap<Token, number> | undefined;
}

interface GrowingNode extends AnswerNode {
  readonly next: Map<Token, GrowingNode>;
  isEnd: boolean;
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

const emptyNode = (): GrowingNode => ({ next: new Map(), isEnd: false, probabilities: undefined });

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
