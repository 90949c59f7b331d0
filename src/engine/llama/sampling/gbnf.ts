import { spelledOut } from '../../../tools/grammar/anyJson.ts';
import type { CharRule, ManyRule, MembersRule, Rule } from '../../../tools/grammar/rule.ts';
import type { Walk } from '../../../tools/grammar/matcher.ts';

/** What may follow a place in a text, in llama.cpp's notation for grammars; the same each time for the same place. */
export function gbnfOf(walk: Walk): string {
  const notation = new Notation();
  const ways = walk.ways.map((rules) => rules.map((rule) => notation.of(rule)).join(' '));
  const root = [...ways, ...(walk.complete ? [''] : [])].join(' | ');
  return [`root ::= ${root}`, ...notation.named].join('\n');
}

// llama.cpp writes a rule out once for every repetition; who samples counts on beyond this.
const mostCopies = 256;

/** Rules as GBNF; each that is made of others gets a name, so that it is written once. */
class Notation {
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
        return this.of(spelledOut(rule));
      default:
        return rule satisfies never;
    }
  }

  #many({ rule, least, most, between = '', begun }: ManyRule): string {
    if (most !== undefined && most <= 0) return '""';
    const one = this.of(rule);
    const next = between === '' ? one : `("${[...between].map(escaped).join('')}" ${one})`;
    if (begun || between === '') return next + times(least, most);
    const rest = `${one} ${next}${times(least - 1, most === undefined ? most : most - 1)}`;
    return least > 0 ? rest : `(${rest})?`;
  }

  #members({ members, begun }: MembersRule): string {
    const [first, ...others] = members;
    if (!first) return '""';
    const key = `${begun ? ', ' : ''}${JSON.stringify(first.key)}: `;
    const one = `"${[...key].map(escaped).join('')}" ${this.of(first.rule)}`;
    const taken = `${one} ${this.#members({ kind: 'members', members: others, begun: true })}`;
    if (first.required) return taken;
    return begun
      ? `(${one})? ${this.#members({ kind: 'members', members: others, begun })}`
      : `(${taken} | ${this.#members({ kind: 'members', members: others })})`;
  }
}

function times(least: number, most: number | undefined): string {
  const from = Math.max(0, least);
  return `{${from},${most === undefined || most > mostCopies ? '' : most}}`;
}

const characters = ({ ranges }: CharRule): string =>
  `[${ranges.map(([from, to]) => (from === to ? coded(from) : `${coded(from)}-${coded(to)}`)).join('')}]`;

const escaped = (character: string): string =>
  /[A-Za-z0-9 _]/.test(character) ? character : coded(character.codePointAt(0) ?? 0);

const coded = (code: number): string => `\\U${code.toString(16).padStart(8, '0')}`;
