import { text, type Rule, type TextRule } from './rule.ts';
import { expand, type Stack } from './expand.ts';

/**
 * Grammar matcher: an immutable state of a nondeterministic pushdown automaton that reads a text character by character.
 * The state is the set of all stacks that the text so far can lead to, each with a terminal on top.
 *
 * | stacks                                             | state                                                       |
 * | -------------------------------------------------- | ----------------------------------------------------------- |
 * | none, and the text may end                         | `mustEnd`: nothing may follow                               |
 * | some, and the text may end                         | `canEnd`: the text may stop here or continue                |
 * | some, all with the same next character, no end     | forced: `forcedText` has what follows (jump-forward decoding) |
 * | some, with different next characters               | a choice, which only sampling can make                      |
 */
export class GrammarMatcher {
  /** Whether the text may end here. */
  readonly canEnd: boolean;
  readonly #stacks: readonly NonNullable<Stack>[];

  private constructor(stacks: Iterable<Stack>) {
    const expanded = expand(stacks);
    this.canEnd = expanded.has(undefined);
    this.#stacks = [...expanded].filter((stack) => stack !== undefined);
  }

  /** The state before the first character of a text. */
  static start(rule: Rule): GrammarMatcher {
    return new GrammarMatcher([{ rule, next: undefined }]);
  }

  /** Whether the text is complete and nothing may follow. */
  get mustEnd(): boolean {
    return this.canEnd && this.#stacks.length === 0;
  }

  /** What may follow: sequences of rules, each of which starts with a character class or a literal. */
  get continuations(): readonly (readonly Rule[])[] {
    return this.#stacks.map((top) => {
      const rules: Rule[] = [];
      for (let stack: Stack = top; stack; stack = stack.next) rules.push(stack.rule);
      return rules;
    });
  }

  /** The state after the longest prefix of a text that matches, and the length of that prefix in UTF-16 code units. */
  accept(newText: string): { readonly matcher: GrammarMatcher; readonly length: number } {
    let matcher: GrammarMatcher = this;
    let length = 0;
    for (const character of newText) {
      const next = matcher.#acceptCharacter(character);
      if (!next) break;
      matcher = next;
      length += character.length;
    }
    return { matcher, length };
  }

  /** The text that the grammar forces, up to the next choice or possible end, and the state after it. */
  forcedText(): { readonly texts: readonly TextRule[]; readonly matcher: GrammarMatcher } {
    const texts: TextRule[] = [];
    let matcher: GrammarMatcher = this;
    for (let forced = matcher.#forcedLiteral(); forced; forced = matcher.#forcedLiteral()) {
      texts.push(forced);
      matcher = matcher.accept(forced.text).matcher;
    }
    return { texts, matcher };
  }

  /** A character that may come next; undefined when the text has to end. */
  anyNextCharacter(): string | undefined {
    const [first] = this.#stacks;
    return first && firstCharacter(first.rule);
  }

  #acceptCharacter(character: string): GrammarMatcher | undefined {
    const codePoint = character.codePointAt(0) ?? 0;
    const stacks = this.#stacks.flatMap(({ rule, next }): readonly Stack[] => {
      if (rule.kind === 'char') {
        return rule.ranges.some(([first, last]) => first <= codePoint && codePoint <= last) ? [next] : [];
      }
      if (rule.kind !== 'text' || !rule.text.startsWith(character)) return [];
      return [{ rule: text(rule.text.slice(character.length)), next }];
    });
    return stacks.length === 0 ? undefined : new GrammarMatcher(stacks);
  }

  /** The literal or the character that has to come next; undefined: there is a choice, or the text may end. */
  #forcedLiteral(): TextRule | undefined {
    const [first, ...others] = this.#stacks;
    if (!first || this.canEnd || !isSingleCharacter(first.rule)) return undefined;
    if (others.length === 0 && first.rule.kind === 'text') return first.rule;
    const character = firstCharacter(first.rule);
    return others.every(({ rule }) => isSingleCharacter(rule) && firstCharacter(rule) === character)
      ? text(character)
      : undefined;
  }
}

/** Whether a whole text matches a rule. */
export function fits(wholeText: string, rule: Rule): boolean {
  const { matcher, length } = GrammarMatcher.start(rule).accept(wholeText);
  return matcher.canEnd && length === wholeText.length;
}

/** Whether a terminal allows only one next character. */
const isSingleCharacter = (rule: Rule): boolean =>
  rule.kind === 'text' ||
  (rule.kind === 'char' && rule.ranges.length === 1 && rule.ranges[0]?.[0] === rule.ranges[0]?.[1]);

/** The first character that a terminal allows. */
function firstCharacter(rule: Rule): string {
  if (rule.kind === 'text') return String.fromCodePoint(rule.text.codePointAt(0) ?? 0);
  return rule.kind === 'char' ? String.fromCodePoint(rule.ranges[0]?.[0] ?? 0) : '';
}
