import type { TokenChoice } from '../contract/engine.ts';
import type { Token } from './tokenizer.ts';

/** A choice in a text that goes on: what follows tells which other tokens would have been the same text. */
export interface OpenChoice extends Omit<TokenChoice, 'probability'> {
  readonly own: number;
  /** What could have been chosen instead. A text that is not known is empty. */
  readonly others: readonly (readonly [text: string, probability: number])[];
  /** Of all that could have been chosen. */
  readonly total: number;
}

/** Of the probability of the chosen token: what is less changes nothing that counts. */
const minShare = 0.001;

/**
 * How probable the chosen token and others are.
 * @param candidates the most probable tokens with their probabilities, at least one.
 * @param allows whether the grammar allows a token in place of the chosen one; undefined: there is no grammar.
 */
export function openChoice(
  candidates: ReadonlyMap<Token, number>,
  chosen: Token,
  textOf: (token: Token) => string,
  allows: ((token: Token) => boolean) | undefined,
): Pick<OpenChoice, 'own' | 'others' | 'total'> {
  const all = [...candidates].filter(([token]) => token !== chosen);
  const least = Math.min(1, ...all.map(([, probability]) => probability));
  const own = candidates.get(chosen) ?? least;
  const others = all
    .filter(([token, probability]) => probability > own * minShare && (allows?.(token) ?? true))
    .map(([token, probability]) => [textOf(token), probability] as const);
  if (!allows) return { own, others, total: 1 };
  // The model would have written something else: what is not listed may be allowed, too, and be as probable as the last one.
  const isOther = others.length === 0 && own <= least && least < 1;
  return {
    own,
    others,
    total: others.reduce((sum, [, probability]) => sum + probability, isOther ? own + least : own),
  };
}

/** A choice with its probability. The same text in other tokens, such as `}` and `}` for `}}`, is no other choice. */
export function closeChoice({ start, end, own, others, total }: OpenChoice, text: string): TokenChoice {
  const same = others.filter(([other]) => other !== '' && text.startsWith(other, start));
  return {
    start,
    end,
    probability: Math.min(1, same.reduce((sum, [, probability]) => sum + probability, own) / total),
  };
}

const callStart = /[<[{(:=]/;
// Longer than what is added at once.
const maxAddedLength = 512;

/** Whether a call may have begun in what was added last to a text. What comes before is cheaper without probabilities. */
export const mayBeginCall = (text: string): boolean => callStart.test(text.slice(-maxAddedLength));
