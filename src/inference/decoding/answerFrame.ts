import { answerMarkAfter, openedAtEnd, type ReplyMarks } from '../../chat/replyMarks.ts';

/** What surrounds the text of an answer in the model's reply to a prompt. */
export interface AnswerFrame {
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
