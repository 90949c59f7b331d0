/** Code points from one to another, both included. */
export type Range = readonly [from: number, to: number];

/** What a text may be, as plain data that can cross a process border. What may be repeated is never empty. */
export type Rule = TextRule | CharRule | AllRule | AnyRule | ManyRule | MembersRule | JsonRule;

/** Exactly this text. */
export interface TextRule {
  readonly kind: 'text';
  readonly text: string;
  /** Whether it is one control token in a vocabulary that has one of this name. */
  readonly control?: true;
}

/** One character of these. */
export interface CharRule {
  readonly kind: 'char';
  readonly ranges: readonly Range[];
}

/** One rule after the other. */
export interface AllRule {
  readonly kind: 'all';
  readonly rules: readonly Rule[];
}

/** One of several rules. */
export interface AnyRule {
  readonly kind: 'any';
  readonly rules: readonly Rule[];
}

/** A rule again and again. */
export interface ManyRule {
  readonly kind: 'many';
  readonly rule: Rule;
  readonly min: number;
  /** Absent: no end. */
  readonly max?: number;
  /** What stands between two of them. */
  readonly separator?: string;
  /** Whether one has come before. */
  readonly isStarted?: true;
}

/** Members of an object in their order; those not required may be left out. */
export interface MembersRule {
  readonly kind: 'members';
  readonly members: readonly Member[];
  /** Whether one has come before. */
  readonly isStarted?: true;
}

/** A key and what its value may be. */
export interface Member {
  readonly key: string;
  readonly rule: Rule;
  readonly required: boolean;
}

/** Any JSON value. */
export interface JsonRule {
  readonly kind: 'json';
  /** How many lists and objects may stand within each other. */
  readonly depth: number;
}

/** Exactly this text. */
export const text = (content: string): TextRule => ({ kind: 'text', text: content });

/** A control token, where the vocabulary has one of this name; else its letters. */
export const tag = (name: string): TextRule => ({ kind: 'text', text: name, control: true });

/** One of the characters that are given singly ('.') or as a range ('a-z'). */
export const char = (...ranges: readonly string[]): CharRule => ({
  kind: 'char',
  ranges: ranges.map((range) => [range.codePointAt(0) ?? 0, range.codePointAt(range.length - 1) ?? 0]),
});

/** One rule after the other. */
export const all = (...rules: readonly Rule[]): AllRule => ({ kind: 'all', rules });

/** One of the rules, of which there is at least one. */
export const any = (...rules: readonly Rule[]): Rule =>
  rules.length === 1 && rules[0] ? rules[0] : { kind: 'any', rules };

/** A rule again and again. */
export const many = (rule: Rule, limits: Pick<ManyRule, 'min' | 'max' | 'separator'>): ManyRule => ({
  kind: 'many',
  rule,
  ...limits,
});

/** A rule, or nothing. */
export const optional = (rule: Rule): ManyRule => many(rule, { min: 0, max: 1 });

/** A JSON list, spaced as our wire form is. */
export const list = (item: Rule, limits: Pick<ManyRule, 'min' | 'max'> = { min: 0 }): Rule =>
  all(text('['), many(item, { ...limits, separator: ', ' }), text(']'));

/** A JSON object with these members and no others. */
export const object = (members: readonly Member[]): Rule => all(text('{'), { kind: 'members', members }, text('}'));
