import type { LlamaContextSequence, Token } from 'node-llama-cpp';
import { cachedPrefixLength, reusableLength } from './prefixReuse.ts';

/** What the choice among free slots looks at. */
export interface FreeSlot {
  readonly cache: LlamaContextSequence;
  /** The number of tokens of the last prompt. */
  readonly promptTokens: number;
  /** Sequence number of the last release. */
  readonly lastUse: number;
}

/** The slot for a prompt, and another one whose state is to be copied into it, as it holds more of the prompt. */
export interface ChosenSlot<S extends FreeSlot> {
  readonly slot: S;
  readonly source?: S;
}

/**
 * Chooses a free slot for a prompt:
 *
 * | the slot with the longest common prefix (LCP)          | chosen                                                        |
 * | ------------------------------------------------------ | ------------------------------------------------------------- |
 * | its last prompt goes on: the same conversation         | this slot                                                     |
 * | another conversation may go on with what it holds      | an empty one, else the least recently used, with a copy of it |
 * | the same, where states cannot be copied                | an empty one, else the least recently used of those that      |
 * |                                                        | reuse about as much                                           |
 */
export function chooseFreeSlot<S extends FreeSlot>(
  free: readonly S[],
  prompt: Token[],
  canCopy: boolean,
): ChosenSlot<S> | undefined {
  const lengths = new Map(free.map((slot) => [slot, reusableLength(slot.cache, prompt)]));
  const lengthOf = (slot: S): number => lengths.get(slot) ?? 0;
  const longest = maxBy(free, lengthOf);
  if (!longest) return undefined;
  if (continues(longest, prompt)) return { slot: longest };
  const similar = free.filter((slot) => 8 * (lengthOf(longest) - lengthOf(slot)) <= prompt.length);
  const empty = free.find(({ cache }) => cache.nextTokenIndex === 0);
  const slot = empty ?? maxBy(canCopy ? free : similar, ({ lastUse }) => -lastUse) ?? longest;
  return canCopy && slot !== longest ? { slot, source: longest } : { slot };
}

/**
 * Whether a prompt goes on where the last one of a slot ended, whatever became of the answer: it may have been shortened, or
 * have had reasoning that later prompts leave out. Also whether the slot holds all of it.
 */
function continues({ cache, promptTokens }: FreeSlot, prompt: Token[]): boolean {
  const cached = cachedPrefixLength(cache, prompt);
  return cached > 0 && cached >= Math.min(promptTokens, prompt.length) - maxOpeningTokens;
}

/** The end of a prompt may open an answer in another way than later prompts show it: `<think>\n\n</think>\n\n`. */
const maxOpeningTokens = 4;

/** The first item with the largest measure. */
export function maxBy<T>(items: readonly T[], measure: (item: T) => number): T | undefined {
  const measures = items.map(measure);
  return items[measures.indexOf(Math.max(...measures))];
}
