import type { Token } from 'node-llama-cpp';
import type { Rule, TextRule } from '../../../tools/grammar/rule.ts';
import type { Walk } from '../../../tools/grammar/matcher.ts';
import type { Vocabulary } from '../tokenizer/tokenizer.ts';

/** Text that is decided, in tokens. */
export interface Worded {
  readonly tokens: readonly Token[];
  /** The place behind them. */
  readonly walk: Walk;
}

/** Puts decided text into the tokens that the model would have drawn for it. */
export class Wording {
  readonly #vocabulary: Vocabulary;

  constructor(vocabulary: Vocabulary) {
    this.#vocabulary = vocabulary;
  }

  /**
   * The tokens for a text that leads to a place, and for what has to come there. Where the last of these could as well
   * be the beginning of a longer token, they are left for the model to draw, together with what it chooses behind them.
   */
  of(own: string, walk: Walk): Worded {
    const { texts, walk: end } = walk.forced();
    const rest = texts.findLastIndex((one) => this.#control(one) !== undefined) + 1;
    const head = rest === 0 ? [] : [own, ...texts.slice(0, rest)].flatMap((one) => this.#tokens(one));
    const start = rest === 0 ? own : '';
    const words = start + spelt(texts.slice(rest));
    const tokens = this.#vocabulary.onward(words);
    const kept = end.ended ? tokens.length : this.#settled(words, tokens, end);
    const shorter = kept < tokens.length ? this.#vocabulary.spell(tokens.slice(0, kept), [], false) : words;
    const isUseful = head.length + kept > 0 && shorter.length >= start.length && words.startsWith(shorter);
    if (kept === tokens.length || !isUseful) return { tokens: [...head, ...tokens], walk: end };
    const gone = spelt(texts.slice(0, rest)) + shorter.slice(start.length);
    return { tokens: [...head, ...tokens.slice(0, kept)], walk: walk.follow(gone).walk };
  }

  /** How many tokens of a text stay the same whatever comes behind it. */
  #settled(words: string, tokens: readonly Token[], end: Walk): number {
    return Math.min(...probes(end).map((probe) => shared(tokens, this.#vocabulary.onward(words + probe))));
  }

  #tokens(one: TextRule | string): readonly Token[] {
    if (typeof one === 'string') return this.#vocabulary.onward(one);
    const control = this.#control(one);
    return control === undefined ? this.#vocabulary.onward(one.text) : [control];
  }

  #control({ text, control }: TextRule): Token | undefined {
    const [token, ...more] = control ? this.#vocabulary.framed(text) : [];
    return token !== undefined && more.length === 0 && this.#vocabulary.isControl(token) ? token : undefined;
  }
}

const spelt = (texts: readonly TextRule[]): string => texts.map(({ text }) => text).join('');

function shared(a: readonly Token[], b: readonly Token[]): number {
  const end = a.findIndex((token, index) => token !== b[index]);
  return end < 0 ? a.length : end;
}

const mostProbes = 12;
const probeLength = 24;

/** Texts as they may come next: enough of them to see where tokens would end. */
function probes(walk: Walk): readonly string[] {
  const next = walk.ways.flatMap(([first]) => first ?? []);
  // Within a string it is letters that come; what ends it is left aside.
  if (next.some(isLetters)) return ['a'];
  return next
    .slice(0, mostProbes)
    .map((rule) => (rule.kind === 'text' ? rule.text.slice(0, probeLength) : firstOf(rule)));
}

const wide = 1000;
const isLetters = (rule: Rule): boolean => rule.kind === 'char' && rule.ranges.some(([from, to]) => to - from > wide);
const firstOf = (rule: Rule): string => (rule.kind === 'char' ? String.fromCodePoint(rule.ranges[0]?.[0] ?? 0) : '');
