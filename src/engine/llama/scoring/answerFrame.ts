import { answerMarkAfter, hasTag, openedAtEnd, type ReplyMarks } from '../../../tools/reasoning/replyMarks.ts';

/** What surrounds the text of an answer in the model's reply to a prompt. */
export interface AnswerFrame {
  /** Closes reasoning that the chat template has opened, and opens the answer; "" = nothing. */
  readonly opening: string;
  /** Closes the answer, before the end of generation; "" = nothing. */
  readonly closing: string;
}

/**
 * The frame of an answer without reasoning. Marks in plain words are no part of it: a model writes them only around
 * reasoning.
 */
export function answerFrame(prompt: string, marks: ReplyMarks): AnswerFrame {
  const { ending = '' } = openedAtEnd(prompt, marks) ?? {};
  const endsInLineBreak = prompt.endsWith('\n');
  const { open = '', close = '' } = marks.answer ?? {};
  const isTagged = hasTag(open);
  return {
    opening: (endsInLineBreak ? ending.trimStart() : ending) + (isTagged ? answerMarkAfter(prompt, marks) : ''),
    closing: isTagged ? close : '',
  };
}
