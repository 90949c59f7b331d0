import type { ReadResult } from '../../schema.ts';
import type { Rule } from './rule.ts';
import { ruleFromSchema } from './jsonSchema/fromSchema.ts';

/** Which calls are wanted: those the model chooses, at least one, or one of a tool. */
export type ToolChoice =
  { readonly kind: 'auto' } | { readonly kind: 'required' } | { readonly kind: 'tool'; readonly name: string };

/** What binds a generated text, as plain data: the whole of it, or the calls in a text that is free around them. */
export type CallGrammar = FullGrammar | LazyGrammar;

/** The text fits a rule from its first character to its last. */
export interface FullGrammar {
  readonly kind: 'full';
  readonly rule: Rule;
  /** Tokens that the text may have; absent: as many as the sampling says. */
  readonly budget?: number;
}

/** The text is free until an opening comes; from there on it fits that opening's rule, and then it is free again. */
export interface LazyGrammar {
  readonly kind: 'lazy';
  readonly triggers: readonly Trigger[];
  /** Tokens that each bound piece may have, whatever the sampling says of the text. */
  readonly budget: number;
}

/** What begins a call. */
export interface Trigger {
  readonly text: string;
  /** first: only where nothing but blanks precedes it since the text began or the last call ended. */
  readonly where: 'anywhere' | 'first';
  /** What comes, the opening included. */
  readonly rule: Rule;
}

/** The grammar for one JSON value that fits a schema and nothing else; refusals point into the schema. */
export function jsonGrammar(schema: unknown): ReadResult<CallGrammar> {
  const rule = ruleFromSchema(schema);
  return rule.ok ? { ok: true, value: { kind: 'full', rule: rule.value } } : rule;
}
