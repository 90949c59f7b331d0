/** The text that opens and closes a part of a reply. */
export interface MarkPair {
  readonly open: string;
  readonly close: string;
}

export interface ReasoningMarks extends MarkPair {
  /** How the template writes the closing mark, to where the answer starts: what ends reasoning whose budget is spent. */
  readonly ending: string;
}

/**
 * Marks of the parts of a model's reply, read off its chat template; plain data, without white space around the marks.
 * A mark in plain words ("Here are my thoughts:") counts only at the start of a reply, and opens reasoning that it is
 * itself a part of.
 */
export interface ReplyMarks {
  /** Around reasoning, in the order in which they are looked for; the first is the template's own. */
  readonly reasoning: readonly ReasoningMarks[];
  /** Around the answer; undefined: it has no marks. A `close` of "" is the end of the turn. */
  readonly answer: MarkPair | undefined;
  /** What the template writes between two parts of one reply, and belongs to neither (`<|start|>assistant`); "" = nothing. */
  readonly restart: string;
  /**
   * Around the header of a message, for a reply of several messages (gpt-oss: `<|channel|>analysis<|message|>`); the
   * headers of reasoning and answer are their opening marks. undefined: a reply has no headers.
   */
  readonly header: MarkPair | undefined;
}

const pair = (open: string, close: string): ReasoningMarks => ({ open, close, ending: `\n${close}\n\n` });

/** The marks of a reply whose template shows none. */
export const defaultReplyMarks: ReplyMarks = {
  reasoning: [pair('<think>', '</think>'), pair('[THINK]', '[/THINK]')],
  answer: undefined,
  restart: '',
  header: undefined,
};

/** Whether a mark is a tag, such as `<think>` or `[THINK]`, or has one in it; else it is plain words. */
export const hasTag = (mark: string): boolean => leadingTag(mark.slice(Math.max(0, mark.search(/[<[]/)))) !== '';

/** The tag that a text starts with; "" = none. */
export const leadingTag = (text: string): string => /^(?:<[^<>\s]+>|\[[^[\]\n]+\])/.exec(text)?.[0] ?? '';

/** The reasoning marks that the end of a prompt has opened on behalf of the model; undefined: none. */
export const openedAtEnd = (prompt: string, { reasoning }: ReplyMarks): ReasoningMarks | undefined => {
  const end = prompt.trimEnd();
  return reasoning.find(({ open }) => end.endsWith(open));
};

/** The opening mark of the answer after a prompt; "" = none: after reasoning a mark in plain words would be text. */
export function answerMarkAfter(prompt: string, marks: ReplyMarks): string {
  const { open = '' } = marks.answer ?? {};
  const isOpened = prompt.trimEnd().endsWith(open.trimEnd());
  return isOpened || (!hasTag(open) && openedAtEnd(prompt, marks)) ? '' : open;
}

/** All tags that the parts of a reply are told apart by. */
export function tagsOf({ reasoning, answer, restart, header }: ReplyMarks): readonly string[] {
  const pairs = [...reasoning, ...(answer ? [answer] : []), ...(header ? [header] : [])];
  const marks = [...pairs.flatMap(({ open, close }) => [open, close]), restart];
  // A model also writes the first tag of a longer mark twice, or alone.
  const heads = reasoning.map(({ open }) => leadingTag(open));
  return [...new Set([...marks, ...heads])].filter(hasTag);
}
