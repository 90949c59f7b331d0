import { expandJsonRule } from './jsonRules.ts';
import { type Stack, beforeValue, memberSeparator } from './expand.ts';
import type { GrammarMatcher } from './matcher.ts';
import { groupByPrefix } from './prefixTree.ts';
import { maxCopiedRepetitions } from './size.ts';
import type { CharRule, ManyRule, Member, MembersRule, Rule } from './rule.ts';

/** What may follow a position, as GBNF. Equal positions give equal text; linear in the size of the rules. */
export function toGbnf(matcher: GrammarMatcher): string {
  const writer = new GbnfWriter();
  const root = [writer.alternatives(matcher.stacks), ...(matcher.canEnd ? ['""'] : [])].join(' | ');
  return [`root ::= ${root}`, ...writer.namedRules].join('\n');
}

/** Where the members of an object are written. */
interface WrittenMembers {
  readonly name: string;
  readonly count: number;
  /** Index of the last required member; -1: none. */
  readonly lastRequired: number;
  readonly separator: string;
  /** The rules of the members from this index on are written. */
  writtenFrom: number;
}

/** Writes rules as GBNF expressions; a rule that consists of others gets a name, so that it is written once. */
class GbnfWriter {
  readonly namedRules: string[] = [];
  readonly #names = new Map<Rule | Stack, string>();
  readonly #members = new Map<readonly Member[], WrittenMembers>();

  /** Alternatives for stacks. Literals before the same tail are written as a prefix tree. */
  alternatives(stacks: readonly NonNullable<Stack>[]): string {
    const literals = new Map<Stack, Set<string>>();
    const others: string[] = [];
    for (const { rule, next } of stacks) {
      if (rule.kind === 'text') literals.set(next, (literals.get(next) ?? new Set()).add(rule.text));
      else others.push(sequence(this.expression(rule), this.#tail(next)));
    }
    const trees = [...literals].map(([next, texts]) => sequence(prefixTree([...texts]), this.#tail(next)));
    return [...trees, ...others].join(' | ');
  }

  expression(rule: Rule): string {
    if (rule.kind === 'text') return quote(rule.text);
    if (rule.kind === 'char') return characterClass(rule);
    return this.#named(rule, () => this.#body(rule));
  }

  /** The rules of a stack, as the name of one rule: stacks share their tails. */
  #tail(stack: Stack): string {
    return stack ? this.#named(stack, () => sequence(this.expression(stack.rule), this.#tail(stack.next))) : '';
  }

  #named(key: Rule | Stack, write: () => string): string {
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    const name = `r${this.#names.size}`;
    this.#names.set(key, name);
    this.namedRules.push(`${name} ::= ${write()}`);
    return name;
  }

  #body(rule: Exclude<Rule, { kind: 'text' | 'char' }>): string {
    switch (rule.kind) {
      case 'all':
        return rule.rules.map((item) => this.expression(item)).join(' ');
      case 'any':
        return this.#choice(rule.rules);
      case 'many':
        return this.#repetition(rule);
      case 'members':
        return this.#remainingMembers(rule);
      case 'json':
        return this.expression(expandJsonRule(rule));
    }
  }

  #choice(rules: readonly Rule[]): string {
    const texts = new Set(rules.flatMap((rule) => (rule.kind === 'text' ? [rule.text] : [])));
    const others = rules.flatMap((rule) => (rule.kind === 'text' ? [] : [this.expression(rule)]));
    return [...(texts.size > 0 ? [prefixTree([...texts])] : []), ...others].join(' | ');
  }

  #repetition({ rule, min, max, separator = '', isStarted }: ManyRule): string {
    if (max !== undefined && max <= 0) return '""';
    const item = this.expression(rule);
    const nextItem = separator === '' ? item : `(${quote(separator)} ${item})`;
    if (isStarted || separator === '') return nextItem + repetitionSuffix(min, max);
    const items = `${item} ${nextItem}${repetitionSuffix(min - 1, max === undefined ? max : max - 1)}`;
    return min > 0 ? items : `(${items})?`;
  }

  #remainingMembers({ members, separator, from = 0, isStarted = false, nonEmpty = false }: MembersRule): string {
    const written = this.#members.get(members) ?? {
      name: `m${this.#members.size}`,
      count: members.length,
      lastRequired: members.findLastIndex(({ required }) => required),
      separator: this.expression(separator ?? memberSeparator),
      writtenFrom: members.length,
    };
    this.#members.set(members, written);
    const end = written.writtenFrom;
    written.writtenFrom = Math.min(from, end);
    for (const [offset, member] of members.slice(from, end).entries())
      this.namedRules.push(this.#memberRule(member, written, from + offset));
    return membersFrom(written, from, isStarted, nonEmpty);
  }

  /**
   * The rule for "this member or a later one": `m-0 ::= key value ", " m-1 | m-1`, with what follows in brackets where
   * all later members may be absent, and without `| m-1` for a required member. Each member is written once.
   */
  #memberRule(member: Member, written: WrittenMembers, index: number): string {
    const key = this.expression(beforeValue(member));
    const following = membersFrom(written, index + 1, true);
    const isSkipped = !member.required && index + 1 < written.count;
    const present = `${key} ${this.expression(member.rule)} ${following}`;
    return `${written.name}-${index} ::= ${present}${isSkipped ? ` | ${written.name}-${index + 1}` : ''}`;
  }
}

/** The members from an index on, as far as they are not absent. */
function membersFrom(
  { name, count, lastRequired, separator }: WrittenMembers,
  from: number,
  isStarted: boolean,
  nonEmpty = false,
): string {
  if (from >= count) return '""';
  const members = `${isStarted ? `${separator} ` : ''}${name}-${from}`;
  return lastRequired >= from || (nonEmpty && !isStarted) ? members : `(${members})?`;
}

const sequence = (first: string, rest: string): string => (rest === '' ? first : `${first} ${rest}`);

/** Alternatives for different texts, in brackets if there are several. */
function prefixTree(texts: readonly string[]): string {
  const alternatives = groupByPrefix(texts).map(({ prefix, rests }) =>
    rests.length === 1 ? quote(prefix) : `${quote(prefix)} ${prefixTree(rests)}`,
  );
  return alternatives.length === 1 ? alternatives.join('') : `(${alternatives.join(' | ')})`;
}

function repetitionSuffix(min: number, max: number | undefined): string {
  const atLeast = Math.max(0, min);
  return `{${atLeast},${max === undefined || max > maxCopiedRepetitions ? '' : max}}`;
}

const characterClass = ({ ranges }: CharRule): string =>
  `[${ranges.map(([from, to]) => (from === to ? escapedCodePoint(from) : `${escapedCodePoint(from)}-${escapedCodePoint(to)}`)).join('')}]`;

const quote = (text: string): string => `"${[...text].map(escapeCharacter).join('')}"`;

const escapeCharacter = (character: string): string =>
  /[A-Za-z0-9 _]/.test(character) ? character : escapedCodePoint(character.codePointAt(0) ?? 0);

const escapedCodePoint = (code: number): string => `\\U${code.toString(16).padStart(8, '0')}`;
