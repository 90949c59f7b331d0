/** Unicode code points from `first` to `last`, both included. */
export type Range = readonly [first: number, last: number];

/** A context-free grammar as plain JSON data, for other processes. What `many` repeats must not match empty text. */
export type Rule = TextRule | CharRule | AllRule | AnyRule | ManyRule | MembersRule | JsonRule;

/** A literal. */
export interface TextRule {
  readonly kind: 'text';
  readonly text: string;
  /** Whether the text is one control token where the vocabulary has one of this name. */
  readonly control?: true;
}

/** A character class. */
export interface CharRule {
  readonly kind: 'char';
  readonly ranges: readonly Range[];
}

/** A sequence of rules. */
export interface AllRule {
  readonly kind: 'all';
  readonly rules: readonly Rule[];
}

/** Alternatives. */
export interface AnyRule {
  readonly kind: 'any';
  readonly rules: readonly Rule[];
}

/** A repetition. */
export interface ManyRule {
  readonly kind: 'many';
  readonly rule: Rule;
  readonly min: number;
  /** Absent: unlimited. */
  readonly max?: number;
  /** Literal between two repetitions. */
  readonly separator?: string;
  /** Whether a repetition precedes, so that the separator comes first; only the matcher sets it. */
  readonly isStarted?: true;
}

/** Members of an object, in this order; those not required may be absent. */
export interface MembersRule {
  readonly kind: 'members';
  readonly members: readonly Member[];
  /** What stands between two members; absent: a comma and a space. */
  readonly separator?: Rule;
  /** Whether at least one member is present. */
  readonly nonEmpty?: boolean;
  /** Index of the first member that may still come; absent: 0; only the matcher sets it. */
  readonly from?: number;
  /** Whether a member precedes, so that a comma comes first; only the matcher sets it. */
  readonly isStarted?: boolean;
}

/** A member of an object. */
export interface Member {
  readonly key: string;
  /** What stands before the value; absent: the key as in JSON, spaced as `stringifyJson` does it. */
  readonly before?: Rule;
  readonly rule: Rule;
  readonly required: boolean;
}

/** Any JSON value. */
export interface JsonRule {
  readonly kind: 'json';
  /** Deepest nesting of lists and objects; 0: only strings, numbers, booleans and null. */
  readonly depth: number;
}

export const text = (content: string): TextRule => ({ kind: 'text', text: content });

/** A control token where the vocabulary has one of this name, else its name as plain text. */
export const tag = (name: string): TextRule => ({ kind: 'text', text: name, control: true });

/** A character class of single characters ('.') and ranges ('a-z'). */
export const char = (...ranges: readonly string[]): CharRule => ({
  kind: 'char',
  ranges: ranges.map((range) => [range.codePointAt(0) ?? 0, [...range].at(-1)?.codePointAt(0) ?? 0]),
});

export const all = (...rules: readonly Rule[]): AllRule => ({ kind: 'all', rules });

/** Alternatives; takes at least one rule. */
export const any = (...rules: readonly Rule[]): Rule => anyOf(rules);

/** Alternatives of a list, which may be longer than a list of arguments can be; at least one rule. */
export const anyOf = (rules: readonly Rule[]): Rule =>
  rules.length === 1 && rules[0] ? rules[0] : { kind: 'any', rules };

export const many = (rule: Rule, limits: Pick<ManyRule, 'min' | 'max' | 'separator'>): ManyRule => ({
  kind: 'many',
  rule,
  ...limits,
});

/** A rule or the empty text. */
export const optional = (rule: Rule): ManyRule => many(rule, { min: 0, max: 1 });

/** A JSON list, spaced as `stringifyJson` does it: `[1, 2]`. */
export const list = (item: Rule, limits: Pick<ManyRule, 'min' | 'max'> = { min: 0 }): Rule =>
  all(text('['), many(item, { ...limits, separator: ', ' }), text(']'));

/** A JSON object with these members and no others, spaced as `stringifyJson` does it: `{"a": 1}`. */
export const object = (members: readonly Member[], separator?: Rule): Rule =>
  all(text('{'), { kind: 'members', members, ...(separator && { separator }) }, text('}'));

/** Members with what a notation writes before their values. */
export const withKeys = (members: readonly Member[], before: (key: string) => Rule): readonly Member[] =>
  members.map((member) => ({ ...member, before: before(member.key) }));

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

/** Lazy grammar, as in llama.cpp: constrains text only from a trigger to the end of what the trigger's rule matches. */
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
