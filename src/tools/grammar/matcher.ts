import { text, type Rule, type TextRule } from './rule.ts';
import { unfold, type Stack } from './expand.ts';

/** A place in a text that fits a rule: it knows what may come next. Walking on gives another place. */
export class Walk {
  /** Whether the text may end here. */
  readonly complete: boolean;
  readonly #open: readonly NonNullable<Stack>[];

  private constructor(stacks: Iterable<Stack>) {
    const open = unfold(stacks);
    this.complete = open.has(undefined);
    this.#open = [...open].filter((stack) => stack !== undefined);
  }

  /** The beginning of a text. */
  static of(rule: Rule): Walk {
    return new Walk([{ rule, next: undefined }]);
  }

  /** Whether the text is complete and nothing may follow. */
  get ended(): boolean {
    return this.complete && this.#open.length === 0;
  }

  /** The ways to go on, each as rules that follow each other; the first is for a character or a text. */
  get ways(): readonly (readonly Rule[])[] {
    return this.#open.map((stack) => {
      const rules: Rule[] = [];
      for (let at: Stack = stack; at; at = at.next) rules.push(at.rule);
      return rules;
    });
  }

  /** Goes along a text as far as it fits. */
  follow(words: string): { readonly walk: Walk; readonly length: number } {
    let walk: Walk = this;
    let length = 0;
    for (const character of words) {
      const next = walk.#past(character);
      if (!next) break;
      walk = next;
      length += character.length;
    }
    return { walk, length };
  }

  /** What has to come next, up to where there is a choice or the end, and the place behind it. */
  forced(): { readonly texts: readonly TextRule[]; readonly walk: Walk } {
    const texts: TextRule[] = [];
    let walk: Walk = this;
    for (let next = walk.#only(); next; next = walk.#only()) {
      texts.push(next);
      walk = walk.follow(next.text).walk;
    }
    return { texts, walk };
  }

  /** A character that may come next; undefined when the text has to end. */
  some(): string | undefined {
    const [first] = this.#open;
    return first && firstOf(first.rule);
  }

  #past(character: string): Walk | undefined {
    const code = character.codePointAt(0) ?? 0;
    const stacks = this.#open.flatMap(({ rule, next }): readonly Stack[] => {
      if (rule.kind === 'char') return rule.ranges.some(([from, to]) => from <= code && code <= to) ? [next] : [];
      if (rule.kind !== 'text' || !rule.text.startsWith(character)) return [];
      return [{ rule: text(rule.text.slice(character.length)), next }];
    });
    return stacks.length === 0 ? undefined : new Walk(stacks);
  }

  #only(): TextRule | undefined {
    const [first, ...others] = this.#open;
    if (!first || this.complete || !isFixed(first.rule)) return undefined;
    if (others.length === 0 && first.rule.kind === 'text') return first.rule;
    const character = firstOf(first.rule);
    return others.every(({ rule }) => isFixed(rule) && firstOf(rule) === character) ? text(character) : undefined;
  }
}

/** Whether a text fits a rule. */
export function fits(words: string, rule: Rule): boolean {
  const { walk, length } = Walk.of(rule).follow(words);
  return walk.complete && length === words.length;
}

const isFixed = (rule: Rule): boolean =>
  rule.kind === 'text' ||
  (rule.kind === 'char' && rule.ranges.length === 1 && rule.ranges[0]?.[0] === rule.ranges[0]?.[1]);

// Stacks are open where a text or a character is on top.
function firstOf(rule: Rule): string {
  if (rule.kind === 'text') return String.fromCodePoint(rule.text.codePointAt(0) ?? 0);
  return rule.kind === 'char' ? String.fromCodePoint(rule.ranges[0]?.[0] ?? 0) : '';
}
