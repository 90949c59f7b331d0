import { describe, expect, it } from 'vitest';
import { defaultReplyMarks } from '../../../../src/chat/replyMarks.ts';
import { ReasoningBudget } from '../../../../src/inference/decoding/decodingState.ts';

describe('the budget of reasoning', () => {
  it('is spent by tokens of reasoning only, and closes it with its mark', () => {
    const budget = new ReasoningBudget(defaultReplyMarks, '', 2);
    budget.push('Hello. ', 5);
    expect(budget.isSpent).toBe(false);
    for (const piece of ['<think>', 'one', ' two']) budget.push(piece, 1);
    expect(budget).toMatchObject({ isReasoning: true, isSpent: true });
    const closing = budget.closing();
    expect(closing).toContain('</think>');
    budget.push(closing, 0);
    expect(budget).toMatchObject({ isReasoning: false, isSpent: false });
  });

  it('is spent at once where there is none, in reasoning that the prompt has opened', () => {
    const budget = new ReasoningBudget(defaultReplyMarks, '<think>\n', 0);
    expect(budget).toMatchObject({ isReasoning: true, isSpent: true });
  });

  it('waits for a mark that may be on its way', () => {
    const budget = new ReasoningBudget(defaultReplyMarks, '<think>\n', 1);
    budget.push('so </thi', 3);
    expect(budget.isSpent).toBe(false);
    budget.push('nk>', 1);
    expect(budget.isReasoning).toBe(false);
  });
});
