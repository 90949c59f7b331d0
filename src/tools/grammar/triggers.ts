import { createReasoningSkipper, type SkipReasoning } from '../reasoning/reasoningSpans.ts';
import type { Trigger } from './grammar.ts';

/** An opening that has come in a text. */
export interface TriggerMatch {
  readonly trigger: Trigger;
  /** Where in the text it ends. */
  readonly end: number;
}

/** The first opening in a text that ends behind an index, outside of reasoning. */
export function findTrigger(
  words: string,
  triggers: readonly Trigger[],
  from: { readonly start: number; readonly heard: number },
): TriggerMatch | undefined {
  const skipReasoning = createReasoningSkipper(words);
  const spans = triggers.flatMap((trigger) => {
    const { text: opens, where } = trigger;
    const at =
      where === 'first'
        ? beginning(words, from.start, skipReasoning)
        : words.indexOf(opens, Math.max(from.start, from.heard - opens.length + 1));
    return at >= 0 && words.startsWith(opens, at) && at + opens.length > from.heard
      ? [{ trigger, end: at + opens.length }]
      : [];
  });
  const [first] = spans.sort((a, b) => a.end - b.end);
  return first && skipReasoning(first.end - 1) === first.end - 1 ? first : undefined;
}

const separators = /[\s,;]*/y;

// Where a text says its first word: separators and reasoning are none.
function beginning(words: string, from: number, skipReasoning: SkipReasoning): number {
  separators.lastIndex = from;
  separators.test(words);
  const at = skipReasoning(separators.lastIndex);
  return at === from ? at : beginning(words, at, skipReasoning);
}
