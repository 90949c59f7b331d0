import type { Rule } from './rule.ts';

/** Which calls a model may make: as it chooses (auto), at least one (required), or one of a certain tool. */
export type ToolChoice =
  { readonly kind: 'auto' } | { readonly kind: 'required' } | { readonly kind: 'tool'; readonly name: string };

/** What constrains decoding, as plain data: the whole text, or only the calls in it. */
export type CallGrammar = FullGrammar | LazyGrammar;

/** The whole text matches a rule. */
export interface FullGrammar {
  readonly kind: 'full';
  readonly rule: Rule;
  /** Largest number of tokens of the text; absent: as in the sampling parameters. */
  readonly budget?: number;
  /** Whether the text is an answer: the mark with which the chat template opens answers precedes it. Absent: no. */
  readonly answer?: true;
}

/**
 * Lazy grammar, as in llama.cpp: text is unconstrained until a trigger. From there it matches the rule of the trigger,
 * and after that it is unconstrained again.
 */
export interface LazyGrammar {
  readonly kind: 'lazy';
  readonly triggers: readonly Trigger[];
  /** Largest number of tokens of each constrained part, whatever the sampling parameters allow for the text. */
  readonly budget: number;
}

/** Grammar trigger: the start of a call. */
export interface Trigger {
  readonly text: string;
  /** first: only separators and reasoning may precede it, since the start of the text or the end of the last call. */
  readonly where: 'anywhere' | 'first';
  /** What the text matches, from the start of the trigger on. */
  readonly rule: Rule;
}
