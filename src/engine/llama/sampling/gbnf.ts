import { expandJsonRule } from '../../../tools/grammar/anyJson.ts';
import type { CharRule, ManyRule, MembersRule, Rule } from '../../../tools/grammar/rule.ts';
import type { GrammarMatcher } from '../../../tools/grammar/matcher.ts';

/** What may follow a place in a text, in llama.cpp's notation for grammars; the same each time for the same place. */
export function toGbnf(matcher: GrammarMatcher): string {
  const notation = new GbnfWriter();
  const ways = matcher.continuations.map((rules) => rules.map((rule) => notation.of(rule)).join(' '));
  const root = [...ways, ...(matcher.canEnd ? [''] : [])].join(' | ');
  return [`root ::= ${root}`, ...notation.named].join('\n');
}

// llama.cpp writes a rule out once for every repetition; who samples counts on beyond this.
const maxRepetitions = 256;

/** Rules as GBNF; each that is made of others gets a name, so that it is written once. */
class GbnfWriter {
  readonly named: string[] = [];
  readonly #names = new Map<Rule, string>();

  of(rule: Rule): string {
    if (rule.kind === 'text') return `"${[...rule.text].map(escaped).join('')}"`;
    if (rule.kind === 'char') return characters(rule);
    const known = this.#names.get(rule);
    if (known !== undefined) return known;
    const name = `r${this.#names.size}`;
    this.#names.set(rule, name);
    this.named.push(`${name} ::= ${this.#body(rule)}`);
    return name;
  }

  #body(rule: Exclude<Rule, { kind: 'text' | 'char' }>): string {
    switch (rule.kind) {
      case 'all':
        return rule.rules.map((one) => this.of(one)).join(' ');
      case 'any':
        return rule.rules.map((one) => this.of(one)).join(' | ');
      case 'many':
        return this.#many(rule);
      case 'members':
        return this.#members(rule);
      case 'json':
        return this.of(expandJsonRule(rule));
      default:
        return rule satisfies never;
    }
  }

  #many({ rule, min, max, separator: between = '', isStarted: begun }: ManyRule): string {
    if (max !== undefined && max <= 0) return '""';
    const one = this.of(rule);
    const next = between === '' ? one : `("${[...between].map(escaped).join('')}" ${one})`;
    if (begun || between === '') return next + repetition(min, max);
    const rest = `${one} ${next}${repetition(min - 1, max === undefined ? max : max - 1)}`;
    return min > 0 ? rest : `(${rest})?`;
  }

  #members({ members, isStarted: begun }: MembersRule): string {
    const [first, ...others] = members;
    if (!first) return '""';
    const key = `${begun ? ', ' : ''}${JSON.stringify(first.key)}: `;
    const one = `"${[...key].map(escaped).join('')}" ${this.of(first.rule)}`;
    const slotMemory = `${one} ${this.#members({ kind: 'members', members: others, isStarted: true })}`;
    if (first.required) return slotMemory;
    return begun
      ? `(${one})? ${this.#members({ kind: 'members', members: others, isStarted: begun })}`
      : `(${slotMemory} | ${this.#members({ kind: 'members', members: others })})`;
  }
}

function repetition(min: number, max: number | undefined): string {
  const from = Math.max(0, min);
  return `{${from},${max === undefined || max > maxRepetitions ? '' : max}}`;
}

const characters = ({ ranges }: CharRule): string =>
  `[${ranges.map(([from, to]) => (from === to ? escapedCodePoint(from) : `${escapedCodePoint(from)}-${escapedCodePoint(to)}`)).join('')}]`;

const escaped = (character: string): string =>
  /[A-Za-z0-9 _]/.test(character) ? character : escapedCodePoint(character.codePointAt(0) ?? 0);

const escapedCodePoint = (code: number): string => `\\U${code.toString(16).padStart(8, '0')}`;
