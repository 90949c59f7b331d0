import type { ReplyMarks } from '../../src/chat/replyMarks.ts';

const noMessages = { restart: '', header: undefined } as const;

/** An opening mark of more than a tag, as Gemma 4 has it. */
export const channelMarks: ReplyMarks = {
  reasoning: [{ open: '<|channel>thought', close: '<channel|>', ending: '\n<channel|>' }],
  answer: undefined,
  ...noMessages,
};

/** Marks around the answer, too, as Command R7B has them. */
export const responseMarks: ReplyMarks = {
  reasoning: [{ open: '<|START_THINKING|>', close: '<|END_THINKING|>', ending: '<|END_THINKING|>' }],
  answer: { open: '<|START_RESPONSE|>', close: '<|END_RESPONSE|>' },
  ...noMessages,
};

/** Reasoning that plain words open, as in Apriel 1.6. */
export const plainMarks: ReplyMarks = {
  reasoning: [{ open: 'My steps:', close: '[BEGIN FINAL RESPONSE]', ending: '\n[BEGIN FINAL RESPONSE]\n' }],
  answer: undefined,
  ...noMessages,
};

/** An answer that a plain word opens, as in Functionary 3.2. */
export const wordMarks: ReplyMarks = {
  reasoning: [{ open: '<think>', close: '</think>', ending: '\n</think>\n\n' }],
  answer: { open: 'all\n', close: '' },
  ...noMessages,
};

/** Messages without headers, as Solar has them. */
export const messageMarks: ReplyMarks = {
  reasoning: [{ open: '<|think|>', close: '<|end|>', ending: '<|end|><|begin|>assistant' }],
  answer: { open: '<|content|>', close: '' },
  restart: '<|begin|>assistant',
  header: undefined,
};

/** Messages with headers, as gpt-oss has them. */
export const harmonyMarks: ReplyMarks = {
  reasoning: [{ open: '<|channel|>analysis<|message|>', close: '<|end|>', ending: '<|end|><|start|>assistant' }],
  answer: { open: '<|channel|>final<|message|>', close: '' },
  restart: '<|start|>assistant',
  header: { open: '<|channel|>', close: '<|message|>' },
};
