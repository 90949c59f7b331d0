import { describe, expect, it } from 'vitest';
import type { Trigger } from '../../../src/chat/grammar/rule.ts';
import { findTrigger } from '../../../src/chat/triggers.ts';

describe('a trigger', () => {
  const rule = { kind: 'text', text: '' } as const;
  const triggers: readonly Trigger[] = [
    { text: '<tool_call>', where: 'anywhere', rule },
    { text: '{', where: 'first', rule },
  ];
  const end = (text: string, from = { start: 0, searchedTo: 0 }): number | undefined =>
    findTrigger(text, triggers, from)?.end;

  it('is a tag at any offset, or a brace at the start', () => {
    expect(end('Well, <tool_call>')).toBe(17);
    expect(end(' \n{"')).toBe(3);
    expect(end('Well, {')).toBeUndefined();
  });

  it('may follow a call and a separator', () => {
    expect(end('{}; {', { start: 2, searchedTo: 4 })).toBe(5);
  });

  it('is not found again in text that was searched', () => {
    expect(end('<tool_call>', { start: 0, searchedTo: 11 })).toBeUndefined();
    expect(end('a<tool_call>', { start: 0, searchedTo: 11 })).toBe(12);
  });

  it('is ignored in reasoning', () => {
    expect(end('<think><tool_call>')).toBeUndefined();
    expect(end('<think></think><tool_call>')).toBe(26);
    expect(end('<think>{')).toBeUndefined();
  });

  it('is a brace after reasoning, too', () => {
    expect(end('<think>{ }</think>\n{"')).toBe(20);
    expect(end('{}; <think>and</think> {', { start: 2, searchedTo: 4 })).toBe(24);
    expect(end('<think>a</think> So: {')).toBeUndefined();
  });

  it('is found after any number of reasoning blocks', () => {
    const text = `${'<think>a</think> '.repeat(50_000)}{`;
    expect(end(text)).toBe(text.length);
  });
});
