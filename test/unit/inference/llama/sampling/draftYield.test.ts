import { describe, expect, it } from 'vitest';
import { DraftYield } from '../../../../../src/inference/llama/sampling/draftYield.ts';

/** Batches of a machine: a draft of 2 tokens gives so many tokens and takes so long; without a draft a token takes 10 ms. */
function record(drafts: DraftYield, batches: number, tokens: number, ms: number): void {
  for (let batch = 0; batch < batches; batch++) {
    drafts.record(0, 1, 10);
    drafts.record(2, tokens, ms);
  }
}

const allowedOf = (drafts: DraftYield, length: number, times: number): number =>
  Array.from({ length: times }, () => drafts.allows(length)).filter(Boolean).length;

describe('which drafts pay', () => {
  it('allows each length until it has been measured', () => {
    const drafts = new DraftYield();
    record(drafts, 3, 1, 30);
    expect(allowedOf(drafts, 2, 100)).toBe(100);
  });

  it.each([
    ['allows one that gives more tokens in the same time', 2, 15, 100],
    ['allows one that gives as many', 2, 20, 100],
    ['tries one that gives fewer now and then', 2, 21, 2],
    ['tries one that is never right now and then', 1, 16, 2],
  ])('%s', (_, tokens, ms, allowed) => {
    const drafts = new DraftYield();
    record(drafts, 10, tokens, ms);
    expect(allowedOf(drafts, 2, 100)).toBe(allowed);
  });

  it('judges each length apart', () => {
    const drafts = new DraftYield();
    record(drafts, 10, 1, 20);
    for (let batch = 0; batch < 10; batch++) drafts.record(8, 7, 40);
    expect(allowedOf(drafts, 2, 40)).toBe(0);
    expect(allowedOf(drafts, 8, 40)).toBe(40);
  });

  it('follows a text that begins to repeat itself, and a machine that changes', () => {
    const drafts = new DraftYield();
    record(drafts, 100, 1, 20);
    record(drafts, 40, 3, 20);
    expect(allowedOf(drafts, 2, 40)).toBe(40);
  });

  it('does not believe a batch that waited for the prompt of another sequence', () => {
    const drafts = new DraftYield();
    record(drafts, 30, 2, 15);
    drafts.record(2, 2, 2000);
    expect(allowedOf(drafts, 2, 40)).toBe(40);
  });
});
