import { text, type Rule, type TextRule } from './rule.ts';
import { expand, type Stack } from './expand.ts';

/** A place in a text that fits a rule: it knows what may come next. Walking on gives another place. */
export class GrammarMatcher {
  /** Whether the text may end here. */
  readonly canEnd: boolean;
  readonly #stacks: readonly NonNullable<Stack>[];

  private constructor(stacks: Iterable<Stack>) {
    const open = expand(stacks);
    this.canEnd = open.has(undefined);
    this.#stacks = [...open].filter((stack) => stack !== undefined);
  }

  /** The beginning of a text. */
  static start(rule: Rule): GrammarMatcher {
    return new GrammarMatcher([{ rule, next: undefined }]);
  }

  /** Whether the text is complete and nothing may follow. */
  get mustEnd(): boolean {
    return this.canEnd && this.#stacks.length === 0;
  }

  /** The ways to go on, each as rules that follow each other; the first is for a character or a text. */
  get continuations(): readonly (readonly Rule[])[] {
    return this.#stacks.map((stack) => {
      const rules: Rule[] = [];
      for (let at: Stack = stack; at; at = at.next) rules.push(at.rule);
      return rules;
    });
  }

  /** Goes along a text as far as it fits. */
  accept(words: string): { readonly walk: GrammarMatcher; readonly length: number } {
    let matcher: GrammarMatcher = this;
    let length = 0;
    for (const character of words) {
      const next = matcher.#past(character);
      if (!next) break;
      matcher = next;
      length += character.length;
    }
    return { walk: matcher, length };
  }

  /** What has to come next, up to where there is a choice or the end, and the place behind it. */
  forcedText(): { readonly texts: readonly TextRule[]; readonly walk: GrammarMatcher } {
    const texts: TextRule[] = [];
    let matcher: GrammarMatcher = this;
    for (let next = matcher.#only(); next; next = matcher.#only()) {
      texts.push(next);
      matcher = matcher.accept(next.text).walk;
    }
    return { texts, walk: matcher };
  }

  /** A character that may come next; undefined when the text has to end. */
  anyNextCharacter(): string | undefined {
    const [first] = this.#stacks;
    return first && firstOf(first.rule);
  }

  #past(character: string): GrammarMatcher | undefined {
    const code = character.codePointAt(0) ?? 0;
    const stacks = this.#stacks.flatMap(({ rule, next }): readonly Stack[] => {
      if (rule.kind === 'char') return rule.ranges.some(([from, to]) => from <= code && code <= to) ? [next] : [];
      if (rule.kind !== 'text' || !rule.text.startsWith(character)) return [];
      return [{ rule: text(rule.text.slice(character.length)), next }];
    });
    return stacks.length === 0 ? undefined : new GrammarMatcher(stacks);
  }

  #only(): TextRule | undefined {
    const [first, ...others] = this.#stacks;
    if (!first || this.canEnd || !isFixed(first.rule)) return undefined;
    if (others.length === 0 && first.rule.kind === 'text') return first.rule;
    const character = firstOf(first.rule);
    return others.every(({ rule }) => isFixed(rule) && firstOf(rule) === character) ? text(character) : undefined;
  }
}

/** Whether a text fits a rule. */
export function fits(words: string, rule: Rule): boolean {
  const { walk: matcher, length } = GrammarMatcher.start(rule).accept(words);
  return matcher.canEnd && length === words.length;
}

const isFixed = (rule: Rule): boolean =>
  rule.kind === 'text' ||
  (rule.kind === 'char' && rule.ranges.length === 1 && rule.ranges[0]?.[0] === rule.ranges[0]?.[1]);

// Stacks are open where a text or a character is on top.
function firstOf(rule: Rule): string {
  if (rule.kind === 'text') return String.fromCodePoint(rule.text.codePointAt(0) ?? 0);
  return rule.kind === 'char' ? String.fromCodePoint(rule.ranges[0]?.[0] ?? 0) : '';
}
