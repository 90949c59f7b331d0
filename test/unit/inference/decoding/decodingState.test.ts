import { describe, expect, it } from 'vitest';
import { defaultReplyMarks } from '../../../../src/chat/replyMarks.ts';
import { reasoningBudget } from '../../../../src/inference/decoding/decodingState.ts';

describe('the budget of reasoning', () => {
  it('is spent by tokens of reasoning only, and closes it with its mark', () => {
    const budget = reasoningBudget(defaultReplyMarks, '', 2);
    budget.push('Hello. ', 5);
    expect(budget.isSpent()).toBe(false);
    for (const piece of ['<think>', 'one', ' two']) budget.push(piece, 1);
    expect([budget.isReasoning(), budget.isSpent()]).toEqual([true, true]);
    const closing = budget.closing();
    expect(closing).toContain('</think>');
    budget.push(closing, 0);
    expect([budget.isReasoning(), budget.isSpent()]).toEqual([false, false]);
  });

  it('is spent at once where there is none, in reasoning that the prompt has opened', () => {
    const budget = reasoningBudget(defaultReplyMarks, '<think>\n', 0);
    expect([budget.isReasoning(), budget.isSpent()]).toEqual([true, true]);
  });

  it('waits for a mark that may be on its way', () => {
    const budget = reasoningBudget(defaultReplyMarks, '<think>\n', 1);
    budget.push('so </thi', 3);
    expect(budget.isSpent()).toBe(false);
    budget.push('nk>', 1);
    expect(budget.isReasoning()).toBe(false);
  });
});
