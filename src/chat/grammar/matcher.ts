import { text, type Rule, type TextRule } from './rule.ts';
import { expand, type Stack } from './expand.ts';
import { commonLength, firstOf } from './prefixTree.ts';

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
  readonly canEnd: boolean;
  /** What may follow: stacks of rules, each with a character class or a literal on top. They share their tails. */
  readonly stacks: readonly NonNullable<Stack>[];
  #forced: ForcedText | undefined;

  private constructor(stacks: Iterable<Stack>) {
    const expanded = expand(stacks);
    this.canEnd = expanded.has(undefined);
    this.stacks = [...expanded].filter((stack) => stack !== undefined);
  }

  /** The state before the first character of a text. */
  static start(rule: Rule): GrammarMatcher {
    return new GrammarMatcher([{ rule, next: undefined }]);
  }

  get mustEnd(): boolean {
    return this.canEnd && this.stacks.length === 0;
  }

  /** The state after the longest prefix of a text that matches, and the length of that prefix in UTF-16 code units. */
  accept(newText: string): Accepted {
    let matcher: GrammarMatcher = this;
    let length = 0;
    while (length < newText.length) {
      const accepted = matcher.#acceptLiteral(newText, length) ?? matcher.#acceptCharacter(newText, length);
      if (!accepted) break;
      matcher = accepted.matcher;
      length += accepted.length;
    }
    return { matcher, length };
  }

  /** The text that the grammar forces next, and the state after it; a long text comes in pieces. */
  forcedText(): ForcedText {
    return (this.#forced ??= this.#findForcedText());
  }

  #findForcedText(): ForcedText {
    const texts: TextRule[] = [];
    let matcher: GrammarMatcher = this;
    let length = 0;
    let work = 0;
    while (length < maxForcedLength && work < maxForcedWork) {
      const literal = matcher.#forcedLiteral();
      if (!literal) break;
      const forced = literal.control ? literal : text(wholeCharacters(literal.text, maxForcedLength - length));
      texts.push(forced);
      work += matcher.stacks.length;
      length += forced.text.length;
      matcher = matcher.accept(forced.text).matcher;
    }
    return { texts, matcher };
  }

  /** Whether the control token of a name may come next. */
  allowsTag(name: string): boolean {
    return this.stacks.some(({ rule }) => isTag(rule) && rule.text === name);
  }

  /** A character that may come next; undefined when the text has to end. */
  anyNextCharacter(): string | undefined {
    const [first] = this.stacks;
    return first && firstCharacter(first.rule);
  }

  /** Accepts what a text has of the literal that must come next, in one step: a text takes linear time. */
  #acceptLiteral(newText: string, start: number): Accepted | undefined {
    const [top, other] = this.stacks;
    if (top?.rule.kind !== 'text' || other) return undefined;
    const { text: literal } = top.rule;
    const length = commonLength(literal, newText, start);
    if (length === 0) return undefined;
    const rest = literal.slice(length);
    return { matcher: new GrammarMatcher([rest === '' ? top.next : { rule: text(rest), next: top.next }]), length };
  }

  #acceptCharacter(newText: string, start: number): Accepted | undefined {
    const codePoint = newText.codePointAt(start) ?? 0;
    const { length } = String.fromCodePoint(codePoint);
    const stacks = this.stacks.flatMap(({ rule, next }): readonly Stack[] => {
      if (rule.kind === 'char')
        return rule.ranges.some(([first, last]) => first <= codePoint && codePoint <= last) ? [next] : [];
      if (rule.kind !== 'text' || rule.text.codePointAt(0) !== codePoint) return [];
      return [{ rule: text(rule.text.slice(length)), next }];
    });
    return stacks.length === 0 ? undefined : { matcher: new GrammarMatcher(stacks), length };
  }

  /** The literal or the character that has to come next; undefined: there is a choice, or the text may end. */
  #forcedLiteral(): TextRule | undefined {
    const [first, ...others] = this.stacks;
    if (!first || this.canEnd || !isSingleCharacter(first.rule)) return undefined;
    if (first.rule.kind === 'text' && others.every(({ rule }) => isSameText(rule, first.rule))) return first.rule;
    // Letters that the names of several control tokens begin with are no way to any of them.
    if (this.stacks.some(({ rule }) => isTag(rule))) return undefined;
    const character = firstCharacter(first.rule);
    return others.every(({ rule }) => isSingleCharacter(rule) && firstCharacter(rule) === character)
      ? text(character)
      : undefined;
  }
}

/** A state after accepted text, and the length of that text in UTF-16 code units. */
interface Accepted {
  readonly matcher: GrammarMatcher;
  readonly length: number;
}

/** Forced text, and the state after it. */
export interface ForcedText {
  readonly texts: readonly TextRule[];
  readonly matcher: GrammarMatcher;
}

/** UTF-16 units. A schema can force texts of any length, and all of it would be found and tokenized without a pause. */
const maxForcedLength = 1024;
/** Steps of stacks: many alternatives may begin with the same long text. */
const maxForcedWork = 16_384;

/** The beginning of a text with at most `maxLength` UTF-16 units, but at least one whole character. */
function wholeCharacters(content: string, maxLength: number): string {
  if (content.length <= maxLength) return content;
  const end = (content.codePointAt(maxLength - 1) ?? 0) > 0xffff ? maxLength - 1 : maxLength;
  return end > 0 ? content.slice(0, end) : firstOf(content);
}

export function fits(wholeText: string, rule: Rule): boolean {
  const { matcher, length } = GrammarMatcher.start(rule).accept(wholeText);
  return matcher.canEnd && length === wholeText.length;
}

const isTag = (rule: Rule): rule is TextRule => rule.kind === 'text' && rule.control === true;

/** Whether two terminals are the same literal, as a control token or as plain text. */
const isSameText = (a: Rule, b: Rule): boolean =>
  a.kind === 'text' && b.kind === 'text' && a.text === b.text && a.control === b.control;

const isSingleCharacter = (rule: Rule): boolean =>
  rule.kind === 'text' ||
  (rule.kind === 'char' && rule.ranges.length === 1 && rule.ranges[0]?.[0] === rule.ranges[0]?.[1]);

export function firstCharacter(rule: Rule): string {
  if (rule.kind === 'text') return firstOf(rule.text);
  return rule.kind === 'char' ? String.fromCodePoint(rule.ranges[0]?.[0] ?? 0) : '';
}
