import { expandJsonRule } from '../../../tools/grammar/anyJson.ts';
import type { CharRule, ManyRule, MembersRule, Rule } from '../../../tools/grammar/rule.ts';
import type { GrammarMatcher } from '../../../tools/grammar/matcher.ts';

/**
 * What may follow at a matcher's position, as a GBNF grammar (llama.cpp's notation). Deterministic: equal positions give
 * equal text, so that it can be a cache key.
 */
export function toGbnf(matcher: GrammarMatcher): string {
  const writer = new GbnfWriter();
  const alternatives = matcher.continuations.map((rules) => rules.map((rule) => writer.expression(rule)).join(' '));
  const root = [...alternatives, ...(matcher.canEnd ? [''] : [])].join(' | ');
  return [`root ::= ${root}`, ...writer.namedRules].join('\n');
}

/**
 * llama.cpp copies a rule once per possible repetition. A larger maximum is written as none: GrammarMatcher counts, and
 * GrammarSampler lets through only what it accepts.
 */
const maxRepetitions = 256;

/** Writes rules as GBNF expressions; a rule that consists of others gets a name, so that it is written once. */
class GbnfWriter {
  readonly namedRules: string[] = [];
  readonly #names = new Map<Rule, string>();

  expression(rule: Rule): string {
    if (rule.kind === 'text') return quote(rule.text);
    if (rule.kind === 'char') return characterClass(rule);
    const known = this.#names.get(rule);
    if (known !== undefined) return known;
    const name = `r${this.#names.size}`;
    this.#names.set(rule, name);
    this.namedRules.push(`${name} ::= ${this.#body(rule)}`);
    return name;
  }

  #body(rule: Exclude<Rule, { kind: 'text' | 'char' }>): string {
    switch (rule.kind) {
      case 'all':
        return rule.rules.map((item) => this.expression(item)).join(' ');
      case 'any':
        return rule.rules.map((alternative) => this.expression(alternative)).join(' | ');
      case 'many':
        return this.#repetition(rule);
      case 'members':
        return this.#members(rule);
      case 'json':
        return this.expression(expandJsonRule(rule));
      default:
        return rule satisfies never;
    }
  }

  #repetition({ rule, min, max, separator = '', isStarted }: ManyRule): string {
    if (max !== undefined && max <= 0) return '""';
    const item = this.expression(rule);
    const nextItem = separator === '' ? item : `(${quote(separator)} ${item})`;
    if (isStarted || separator === '') return nextItem + repetitionSuffix(min, max);
    const items = `${item} ${nextItem}${repetitionSuffix(min - 1, max === undefined ? max : max - 1)}`;
    return min > 0 ? items : `(${items})?`;
  }

  #members({ members, isStarted }: MembersRule): string {
    const [first, ...others] = members;
    if (!first) return '""';
    const key = `${isStarted ? ', ' : ''}${JSON.stringify(first.key)}: `;
    const member = `${quote(key)} ${this.expression(first.rule)}`;
    const withFirst = `${member} ${this.#members({ kind: 'members', members: others, isStarted: true })}`;
    if (first.required) return withFirst;
    return isStarted
      ? `(${member})? ${this.#members({ kind: 'members', members: others, isStarted })}`
      : `(${withFirst} | ${this.#members({ kind: 'members', members: others })})`;
  }
}

function repetitionSuffix(min: number, max: number | undefined): string {
  const atLeast = Math.max(0, min);
  return `{${atLeast},${max === undefined || max > maxRepetitions ? '' : max}}`;
}

const characterClass = ({ ranges }: CharRule): string =>
  `[${ranges.map(([from, to]) => (from === to ? escapedCodePoint(from) : `${escapedCodePoint(from)}-${escapedCodePoint(to)}`)).join('')}]`;

const quote = (text: string): string => `"${[...text].map(escapeCharacter).join('')}"`;

const escapeCharacter = (character: string): string =>
  /[A-Za-z0-9 _]/.test(character) ? character : escapedCodePoint(character.codePointAt(0) ?? 0);

const escapedCodePoint = (code: number): string => `\\U${code.toString(16).padStart(8, '0')}`;
