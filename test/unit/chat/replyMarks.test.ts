import { describe, expect, it } from 'vitest';
import { answerMarkAfter, defaultReplyMarks } from '../../../src/chat/replyMarks.ts';
import { harmonyMarks, responseMarks, wordMarks } from '../../helpers/replyMarks.ts';

describe('the opening mark of an answer', () => {
  it.each([
    ['follows a prompt', 'Hi<|BOT|>', responseMarks, '<|START_RESPONSE|>'],
    ['follows reasoning that a prompt has opened', 'Hi<|START_THINKING|>', responseMarks, '<|START_RESPONSE|>'],
    ['is not repeated after a prompt that ends with it', 'Hi<|START_RESPONSE|>\n', responseMarks, ''],
    ['is a header of a message', 'Hi<|start|>assistant', harmonyMarks, '<|channel|>final<|message|>'],
    ['is plain words, which do not follow reasoning', 'Hi<think>\n', wordMarks, ''],
    ['is plain words', 'Hi>>>', wordMarks, 'all\n'],
    ['is none where the template has none', 'Hi', defaultReplyMarks, ''],
  ])('%s', (_, prompt, marks, mark) => {
    expect(answerMarkAfter(prompt, marks)).toBe(mark);
  });
});
