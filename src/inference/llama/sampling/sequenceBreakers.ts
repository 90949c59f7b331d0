import type { Token } from '../../decoding/token.ts';
import type { Tokenizer } from '../../decoding/tokenizer.ts';
import type { BreakerTails } from './dryPenalty.ts';

/** Finds the sequence breakers of DRY in tokens. Each token is read once, when it is first asked for. */
export function findBreakers(
  breakers: readonly string[],
  tokenizer: Pick<Tokenizer, 'detokenize' | 'tokenizeContinuation'>,
): BreakerTails {
  const known = new Map<Token, readonly (readonly Token[])[]>();
  return (token) => {
    const found = known.get(token);
    if (found) return found;
    const text = tokenizer.detokenize([token], [], true);
    const tails = breakers.some((breaker) => text.includes(breaker))
      ? [[]]
      : breakers.flatMap((breaker) => restsAfter(text, breaker)).map((rest) => tokenizer.tokenizeContinuation(rest));
    known.set(token, tails);
    return tails;
  };
}

/** What is left of a breaker after each beginning of it that a text ends with. */
const restsAfter = (text: string, breaker: string): readonly string[] =>
  Array.from({ length: breaker.length - 1 }, (_, index) => index + 1)
    .filter((length) => text.endsWith(breaker.slice(0, length)))
    .map((length) => breaker.slice(length));
