import type { Message } from '../../dialog.ts';
import { commonPrefixLength } from '../commonPrefix.ts';

const charactersPerToken = 4;

/** What the mock's frame adds to a prompt and to each message of it. */
export const mockOverhead = { prompt: 3, message: 4 } as const;

/** Tokens of a text as the mock counts them: one for every four UTF-16 units; the last may be a part of one. */
export const countText = (text: string): number => Math.ceil(text.length / charactersPerToken);

/** Tokens of messages, frame included. */
export const countMessages = (messages: readonly Message[]): number =>
  messages.reduce((sum, { text }) => sum + mockOverhead.message + countText(text), 0);

/** Tokens that two lists of messages have in common from the start. */
export function commonPrefixTokens(a: readonly Message[], b: readonly Message[]): number {
  let same = 0;
  while (same < a.length && a[same]?.role === b[same]?.role && a[same]?.text === b[same]?.text) same++;
  const [inA, inB] = [a[same], b[same]];
  const partial =
    inA && inA.role === inB?.role
      ? mockOverhead.message + Math.floor(commonPrefixLength(inA.text, inB.text) / charactersPerToken)
      : 0;
  return countMessages(a.slice(0, same)) + partial;
}

/** The beginning of a text that so many tokens hold, cut between characters. */
export function truncate(text: string, tokens: number): string {
  const end = Math.max(0, tokens * charactersPerToken);
  const splits = /[\uD800-\uDBFF]/.test(text.charAt(end - 1)) && end < text.length;
  return text.slice(0, splits ? end - 1 : end);
}
