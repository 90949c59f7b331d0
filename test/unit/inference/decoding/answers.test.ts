import { describe, expect, it } from 'vitest';
import { answerFrame } from '../../../../src/inference/decoding/answers.ts';
import { defaultReplyMarks } from '../../../../src/chat/replyMarks.ts';
import { harmonyMarks, plainMarks, responseMarks, wordMarks } from '../../../helpers/replyMarks.ts';

describe('the frame of an answer', () => {
  it.each([
    ['assistant\n', defaultReplyMarks, '', ''],
    ['assistant\n<think>\n', defaultReplyMarks, '</think>\n\n', ''],
    ['assistant\n<think>', defaultReplyMarks, '\n</think>\n\n', ''],
    ['assistant\n<think>\n\n</think>\n\n', defaultReplyMarks, '', ''],
    ['<|start|>assistant', harmonyMarks, '<|channel|>final<|message|>', ''],
    [
      '<|start|>assistant<|channel|>analysis<|message|>',
      harmonyMarks,
      '<|end|><|start|>assistant<|channel|>final<|message|>',
      '',
    ],
    ['<|CHATBOT|>', responseMarks, '<|START_RESPONSE|>', '<|END_RESPONSE|>'],
    ['<|CHATBOT|><|START_RESPONSE|>', responseMarks, '', '<|END_RESPONSE|>'],
    ['assistant\nMy steps:\n', plainMarks, '[BEGIN FINAL RESPONSE]\n', ''],
    ['>>>', wordMarks, 'all\n', ''],
  ])('after %j with %j is %j and %j', (prompt, marks, opening, closing) => {
    expect(answerFrame(prompt, marks)).toEqual({ opening, closing });
  });
});
