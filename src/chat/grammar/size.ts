import { expandJsonRule } from './jsonRules.ts';
import { groupByPrefix } from './prefixTree.ts';
import type { ManyRule, MembersRule, Rule } from './rule.ts';

/**
 * Largest size of a grammar (see GrammarSize). llama.cpp parses a grammar without a pause, twice: one of this size in less
 * than 50 ms. A thousand values of 50 characters, or 128 tools with 20 parameters each, are smaller.
 */
export const maxGrammarSize = 65_536;

/**
 * Largest number of alternatives that may have to be followed at once. llama.cpp compares each with each, and each with
 * the vocabulary. Values that differ in their next character count as one alternative for each such character.
 */
const maxAlternatives = 1024;

/** llama.cpp copies a rule once per repetition. A larger maximum is written as none: GrammarMatcher counts then. */
export const maxCopiedRepetitions = 256;

/** The size of one rule, as a number of characters of a literal: measured with llama.cpp's parser. */
export const sizePerRule = 8;

/**
 * The size of a grammar, about the time that llama.cpp takes to parse it: 1 for each character of a literal, 8 for each
 * rule and for each copy of a repeated one. A rule that occurs in several places counts once.
 */
export class GrammarSize {
  /** That of all rules that were added. */
  total = 0;
  readonly #alternatives = new Map<Rule, number>();

  /** Adds a rule. @returns the number of alternatives that may have to be followed at once in it. */
  add(rule: Rule): number {
    const known = this.#alternatives.get(rule);
    if (known !== undefined) return known;
    this.total += sizePerRule;
    const alternatives = this.#addParts(rule);
    this.#alternatives.set(rule, alternatives);
    return alternatives;
  }

  /** A function that takes back the rules which are added from now on. */
  checkpoint(): () => void {
    const total = this.total;
    const count = this.#alternatives.size;
    return () => {
      this.total = total;
      // In the order in which they were added.
      for (const rule of [...this.#alternatives.keys()].slice(count)) this.#alternatives.delete(rule);
    };
  }

  #addParts(rule: Rule): number {
    switch (rule.kind) {
      case 'text':
        this.total += rule.text.length;
        return 1;
      case 'char':
        return 1;
      case 'all':
        return this.#most(rule.rules);
      case 'any':
        return this.#sum(rule.rules);
      case 'many':
        this.total += sizePerRule * copies(rule);
        return this.add(rule.rule) + 1;
      case 'members':
        for (const { key, before } of rule.members) this.total += (before ? 0 : key.length) + 2 * sizePerRule;
        return Math.max(longestOptionalRun(rule), this.#most(partsOf(rule)));
      case 'json':
        return this.add(expandJsonRule(rule));
    }
  }

  #most(rules: readonly Rule[]): number {
    return rules.reduce((most, rule) => Math.max(most, this.add(rule)), 1);
  }

  #sum(rules: readonly Rule[]): number {
    let sum = branching([...new Set(rules.flatMap((rule) => (rule.kind === 'text' ? [rule.text] : [])))]);
    for (const rule of rules) {
      const alternatives = this.add(rule);
      if (rule.kind !== 'text') sum += alternatives;
    }
    return sum;
  }
}

/** The largest number of different characters that may come next while one of these different texts is matched. */
function branching(texts: readonly string[]): number {
  if (texts.length < 2) return texts.length;
  const groups = groupByPrefix(texts);
  return groups.reduce((most, { rests }) => Math.max(most, branching(rests)), groups.length);
}

const partsOf = ({ members, separator }: MembersRule): readonly Rule[] => [
  ...(separator ? [separator] : []),
  ...members.flatMap(({ before, rule }) => (before ? [before, rule] : [rule])),
];

/** How many members may come next at most: those that may be absent, one after the other, and the one after them. */
function longestOptionalRun({ members }: MembersRule): number {
  let [longest, run] = [0, 0];
  for (const { required } of members) {
    run++;
    longest = Math.max(longest, run);
    if (required) run = 0;
  }
  return longest;
}

/** Adds a rule to a grammar; what is wrong if that makes it too large, as the end of a sentence that begins with the place. */
export function sizeProblem(size: GrammarSize, rule: Rule): string | undefined {
  const alternatives = size.add(rule);
  if (size.total > maxGrammarSize)
    return `makes the grammar larger than ${maxGrammarSize} characters (a rule or a repetition counts as ${sizePerRule}); declare less`;
  if (alternatives > maxAlternatives)
    return `has more than ${maxAlternatives} alternatives in one place (branches, or members that may be absent); declare fewer`;
  return undefined;
}

const copies = ({ min, max = Infinity }: ManyRule): number => (max > maxCopiedRepetitions ? min + 1 : max);
