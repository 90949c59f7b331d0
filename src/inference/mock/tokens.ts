import type { Message } from '../../chat/dialog.ts';
import type { PromptPiece } from '../contract/engine.ts';
import { commonPrefixLength } from '../../base/commonPrefix.ts';

const charactersPerToken = 4;

/** Tokens that the mock's chat template adds to a prompt, and to each message. */
export const mockOverhead = { prompt: 3, message: 4 } as const;

/** Messages as the mock's chat template writes them: the role is a control token. */
export const mockPieces = (messages: readonly Message[]): readonly PromptPiece[] =>
  messages.flatMap(({ role, text }) => [
    { text: `${role}: `, special: true },
    { text: `${text}\n`, special: false },
  ]);

/** The number of tokens of a text: one for every four UTF-16 units, rounded up. */
export const countText = (text: string): number => Math.ceil(text.length / charactersPerToken);

/** The number of tokens of messages, including what the chat template adds to each. */
export const countMessages = (messages: readonly Message[]): number =>
  messages.reduce((sum, { text }) => sum + mockOverhead.message + countText(text), 0);

/** The number of tokens in the longest common prefix of two lists of messages. */
export function commonPrefixTokens(a: readonly Message[], b: readonly Message[]): number {
  let equalMessages = 0;
  while (
    equalMessages < a.length &&
    a[equalMessages]?.role === b[equalMessages]?.role &&
    a[equalMessages]?.text === b[equalMessages]?.text
  )
    equalMessages++;
  const [nextA, nextB] = [a[equalMessages], b[equalMessages]];
  const partial =
    nextA && nextA.role === nextB?.role
      ? mockOverhead.message + Math.floor(commonPrefixLength(nextA.text, nextB.text) / charactersPerToken)
      : 0;
  return countMessages(a.slice(0, equalMessages)) + partial;
}

/** The beginning of a text that fits in so many tokens; surrogate pairs stay whole. */
export function truncate(text: string, tokens: number): string {
  const end = Math.max(0, tokens * charactersPerToken);
  const splitsPair = /[\uD800-\uDBFF]/.test(text.charAt(end - 1)) && end < text.length;
  return text.slice(0, splitsPair ? end - 1 : end);
}
