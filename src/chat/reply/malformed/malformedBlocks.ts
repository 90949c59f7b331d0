import { parseJsonAt } from '../../json/lenientParser.ts';
import type { TextRange } from '../marks.ts';
import type { MarkFinder } from '../markFinder.ts';
import { isJsonStart, type Token, type TokenKind, type TokenOptions, tokensOf } from '../tokens.ts';
import { whyNoCall } from '../whyNoCall.ts';

/** A range of a text that is markup of a call, and why it gave none; `end` is exclusive. */
export interface MalformedBlock extends TextRange {
  readonly reason: string;
  /** Whether it is no more than what may remain around a call that was read. */
  readonly isRest: boolean;
}

/** What is known of a reply. */
export interface MarkupOptions extends TokenOptions {
  /** Index before which nothing is taken out; default 0. */
  readonly from?: number;
}

/** Finds the blocks of markup in a text whose calls are taken out, in order. Takes time linear in the text. */
export const malformedBlocks = (text: string, finder: MarkFinder, options: MarkupOptions): readonly MalformedBlock[] =>
  new BlockReader(text, tokensOf(text, finder, options), options).read();

// What follows it belongs to the call up to the end of the text, whatever it is.
const neverClosed = '<|python_tag|>';

class BlockReader {
  readonly #text: string;
  readonly #tokens: readonly Token[];
  readonly #options: MarkupOptions;
  /** For each opening mark, the index of the token of the mark that closes it. */
  readonly #closing = new Map<number, number>();
  /** Index in the text, and of the token, from which the next block may start. */
  #from: number;
  #next = 0;

  constructor(text: string, tokens: readonly Token[], options: MarkupOptions) {
    this.#text = text;
    this.#tokens = tokens;
    this.#options = options;
    this.#from = options.from ?? 0;
    let closing: number | undefined;
    for (let at = tokens.length - 1; at >= 0; at--) {
      const kind = tokens[at]?.kind;
      if (kind === 'closes') closing = at;
      else if ((kind === 'opens' || kind === 'inner') && closing !== undefined) this.#closing.set(at, closing);
      if (kind === 'opens') closing = undefined;
    }
  }

  read(): readonly MalformedBlock[] {
    const blocks: MalformedBlock[] = [];
    for (let at = 0; at < this.#tokens.length; at++) {
      if (at < this.#next || !this.#isSeed(at)) continue;
      const block = this.#block(at);
      blocks.push(block);
      this.#from = block.end;
    }
    return blocks;
  }

  #isSeed(at: number): boolean {
    const token = this.#tokens[at];
    if (!token || token.start < this.#from) return false;
    if (token.kind === 'name') return this.#isNamedCall(at, token);
    if (token.kind === 'broken' || token.kind === 'sign') return this.#isAlone(token);
    return seeds.has(token.kind);
  }

  /** Whether a mark with a mistake in it stands for one although no call stands next to it. */
  #isAlone(token: Token): boolean {
    const tag = this.#textOf(token);
    const lineBefore =
      this.#text
        .slice(Math.max(0, token.start - maxEdge), token.start)
        .split('\n')
        .at(-1) ?? '';
    const after = this.#text.slice(token.end, token.end + maxEdge);
    if (/^[<[]/.test(tag) && !/[>\]]$/.test(tag)) return lineBefore.trim() === '' && /^[ \t]*(?:\n|$)/.test(after);
    return token.kind === 'broken' && tag.includes('_') && !isNamed(tag, after);
  }

  /**
   * Whether the name of a tool begins a call: `name{...}` does anywhere, `name(...)` only where it is a line or a list, or
   * directly before a mark.
   */
  #isNamedCall(at: number, { start, end: nameEnd }: Token, from = this.#from): boolean {
    const text = this.#text;
    const opener = this.#tokens[at + 1];
    if (!opener || text.slice(nameEnd, opener.start).trim() !== '') return false;
    if (text[opener.start] !== '(') return text[opener.start] === '{';
    const last = opener.pair ?? at + 1;
    const end = this.#tokens[last]?.end ?? nameEnd;
    const next = this.#tokens[last + 1];
    if (next && next.start === end && seeds.has(next.kind) && opener.pair !== undefined) return true;
    const first = Math.max(from, start - maxIndent);
    const before = text.slice(first, start);
    const isFirst = first === from && /^[ \t,;[]*$/.test(before);
    const isLast =
      opener.pair === undefined || /^[ \t\],;]*(?:\n|$|[\w.:]{1,64}\()/.test(text.slice(end, end + maxEdge));
    return isLast && (isFirst || /[\n[][ \t,;]{0,16}$/.test(before));
  }

  #block(seed: number): MalformedBlock {
    const text = this.#text;
    const first = this.#group(seed);
    const { last, end } = this.#reach(first, seed);
    const outer = this.#start(first, last);
    const start = this.#tokens[outer]?.start ?? 0;
    const described = this.#describe(this.#tokens.slice(outer, last + 1), end);
    this.#next = last + 1;
    // Quotes around a mark go with it.
    const quoted = /["'“]/.test(text[start] ?? '') && /["'”]/.test(text[end] ?? '') ? 1 : 0;
    return { start, end: end + quoted, ...described };
  }

  /** The token of the outermost bracket of malformed JSON around a token, without prose in between; else the token itself. */
  #group(seed: number): number {
    let group = seed;
    for (let depth = 0; depth < maxDepth; depth++) {
      const { parent, start = 0 } = this.#tokens[group] ?? {};
      const opener = this.#tokens[parent ?? -1];
      if (parent === undefined || !opener?.isJson || opener.start < this.#from) break;
      // Data that is cut off before a call is no part of it.
      const isApart = this.#tokens[seed]?.kind === 'opens' && /\s/.test(this.#text[start - 1] ?? ' ');
      if (opener.pair === undefined && (isApart || isProse(this.#text.slice(opener.end, start)))) break;
      group = parent;
    }
    return group;
  }

  /**
   * How far a block goes on after its first token: over all that is no prose. While a mark or a bracket is open, that is
   * JSON and the like; else what may remain of a call, or another one.
   */
  #reach(first: number, seed: number): Growth {
    const tokens = this.#tokens;
    const growth: Growth = {
      first,
      seed,
      at: first,
      isOpen: false,
      depth: 0,
      last: first,
      end: tokens[first]?.end ?? 0,
    };
    for (; growth.at < tokens.length; growth.at++) {
      const { at } = growth;
      if (at > seed && !this.#goesOn(at, growth.isOpen)) return growth;
      const isPart = this.#accept(growth);
      if (isPart === undefined && at > seed) return growth;
      if (isPart || at <= seed) {
        growth.last = growth.at;
        growth.end = tokens[growth.at]?.end ?? growth.end;
      }
    }
    this.#reachEnd(growth);
    return growth;
  }

  /** Whether the token at which a block has arrived is a part of it; false: if a part follows; undefined: it is none. */
  #accept(growth: Growth): boolean | undefined {
    const { at, isOpen, depth, first, seed } = growth;
    const text = this.#text;
    const token = this.#tokens[at];
    if (!token) return undefined;
    switch (token.kind) {
      case 'opens':
      case 'inner':
        // After the mark that closes a call, another call begins.
        if (token.kind === 'opens' && !isOpen && this.#tokens[growth.last]?.kind === 'closes' && at > seed)
          return undefined;
        this.#acceptMark(growth, token);
        return true;
      case 'closes':
      case 'cutOff':
        growth.isOpen = false;
        growth.depth = 0;
        return true;
      case 'key':
        growth.isOpen = true;
        return true;
      case 'name':
        if (!isOpen && at !== seed && !this.#isNamedCall(at, token, growth.end)) return undefined;
        growth.isOpen = true;
        return true;
      case 'data':
        if (!isOpen && !this.#isBeforeCloser(at)) return undefined;
        growth.isOpen = depth > 0;
        return isOpen;
      case 'call':
        growth.isOpen = depth > 0;
        return true;
      case 'opener':
        if (token.pair !== undefined && !isOpen && at >= seed) return undefined;
        if (token.pair !== undefined) growth.at = token.pair;
        else growth.depth++;
        growth.isOpen = growth.depth > 0 && (isOpen || at < seed);
        return growth.at > at;
      case 'closer':
        if (this.#isSmile(token)) return undefined;
        if (token.pair !== undefined && token.pair < first && !this.#isAround(token.pair, first)) return undefined;
        growth.depth = Math.max(0, depth - 1);
        growth.isOpen = growth.depth > 0;
        return true;
      case 'broken':
        if (!isOpen && isNamed(this.#textOf(token), this.#after(token))) return undefined;
        growth.isOpen ||= !this.#textOf(token).includes('/');
        return true;
      case 'code':
        return undefined;
      case 'sign':
        if (!isOpen && text[token.start] === '<') return undefined;
        // The rest of a mark.
        return text[token.start] === '>' && /^[\w|=/.-]{0,24}$/.test(text.slice(growth.end, token.start));
      default:
        return isOpen;
    }
  }

  /** Whether a mark or a bracket that closes what is not there follows a token. */
  #isBeforeCloser(at: number): boolean {
    const next = this.#tokens[at + 1];
    return next?.kind === 'closes' || (next?.kind === 'closer' && next.pair === undefined);
  }

  #acceptMark(growth: Growth, token: Token): void {
    const closing = this.#closing.get(growth.at);
    growth.isOpen = false;
    if (this.#isMentioned(token)) return;
    growth.isOpen = closing === undefined;
    if (closing !== undefined) growth.at = closing;
    else if (this.#textOf(token) === neverClosed) {
      const next = this.#tokens.findIndex(({ kind }, index) => kind === 'opens' && index > growth.at);
      growth.at = (next < 0 ? this.#tokens.length : next) - 1;
    }
  }

  /** Whether no prose stands before a token to which a block may go on. */
  #goesOn(at: number, isOpen: boolean): boolean {
    const text = this.#text;
    const [previous, next] = [this.#tokens[at - 1], this.#tokens[at]];
    if (!previous || !next) return false;
    const gap = text.slice(previous.end, next.start);
    if (gap.trim() === '' || (isOpen && this.#isBeforeValue(previous))) return true;
    const isTight = !/\s$/.test(gap) && text[next.start] !== '\n';
    if (next.kind === 'closes' && isTight && !/^\s/.test(gap)) return gap.length <= maxEdge;
    if (!isTight || /^[,;]/.test(text[next.start] ?? '') || !/^\s*\S+$/.test(gap)) return false;
    return isOpen || (text[previous.start] !== '\n' && (!/^\s/.test(gap) || text[next.start] === '"'));
  }

  /** Whether what follows a token of a block that is open is a value, of whatever words. */
  #isBeforeValue({ kind, start, end }: Token): boolean {
    if (kind === 'opener' || kind === 'inner') return true;
    return kind === 'opens' ? this.#text.slice(start, end).includes('=') : /[,:=]$/.test(this.#text.slice(start, end));
  }

  /** The end of a block that no prose ends: the rest of the text, but for words that are no part of a call. */
  #reachEnd(growth: Growth): void {
    const text = this.#text;
    const last = this.#tokens.length - 1;
    const token = this.#tokens[last];
    const rest = text.slice(token?.end ?? 0).trim();
    const isPart = growth.isOpen
      ? rest === '' || this.#startsName(rest) || (token !== undefined && this.#isBeforeValue(token))
      : /^[\s"'“”,;]*$/.test(text.slice(growth.end));
    if (isPart) Object.assign(growth, { last, end: text.length });
  }

  /** Whether a text is a word with the name of a tool in it, or the beginning of one. */
  #startsName(word: string): boolean {
    const { toolNames } = this.#options;
    if (toolNames.size === 0 || /\s/.test(word)) return /^[\w.-]{1,64}$/.test(word);
    return [...toolNames].some((name) => name.startsWith(word) || word.includes(name));
  }

  /** Whether a bracket that nothing opens is a part of a face: `:)`. */
  #isSmile({ start, pair }: Token): boolean {
    return pair === undefined && /[:;=<>^-]/.test(this.#text[start - 1] ?? '');
  }

  /** Whether a bracket stands directly before a block. */
  #isAround(opener: number, first: number): boolean {
    return (
      opener === first - 1 && this.#text.slice(this.#tokens[opener]?.end, this.#tokens[first]?.start).trim() === ''
    );
  }

  /** The token with which a block starts, with what belongs to it directly before its first token. */
  #start(first: number, last: number): number {
    const text = this.#text;
    let start = first;
    for (let at = first - 1; at >= 0; at--) {
      const token = this.#tokens[at];
      const before = this.#tokens[at + 1]?.start ?? 0;
      if (!token || token.start < this.#from || text.slice(token.end, before).trim() !== '') break;
      const isPart = this.#isBefore(token, first, last, before);
      if (isPart === undefined) break;
      if (isPart) start = at;
    }
    return start;
  }

  /** Whether a token before a block is a part of it; false: if a part stands before it; undefined: it is none. */
  #isBefore(token: Token, first: number, last: number, before: number): boolean | undefined {
    const { kind, pair, start, end } = token;
    const next = this.#tokens[first]?.kind;
    if (kind === 'opener' && pair === undefined && this.#text[start] === '`')
      return last === this.#tokens.length - 1 ? true : undefined;
    if (kind === 'opener') return pair === undefined || pair <= last ? true : undefined;
    if (kind === 'closer') return pair === undefined && !this.#isSmile(token) ? true : undefined;
    if (kind === 'broken') return true;
    if (kind === 'word') return next === 'opens' ? undefined : true;
    if (kind === 'data') return next === 'closes' ? true : undefined;
    if (kind === 'string') return next === 'closes' ? false : undefined;
    if (kind !== 'sign') return undefined;
    const sign = this.#text.slice(start, end);
    if (sign.startsWith('<')) return sign !== '<' || end === before;
    return /^["'“]/.test(sign) && !/[\w.,;:!?]/.test(this.#text[start - 1] ?? '');
  }

  #describe(tokens: readonly Token[], end: number): Pick<MalformedBlock, 'reason' | 'isRest'> {
    const text = this.#text;
    const find = (...kinds: TokenKind[]): Token | undefined => tokens.find(({ kind }) => kinds.includes(kind));
    const json = tokens.find(
      ({ kind, start }) =>
        kind === 'call' ||
        kind === 'data' ||
        kind === 'key' ||
        (kind === 'opener' && text[start] !== '(' && isJsonStart(text, start)),
    );
    const opening =
      tokens.findLast(({ kind, start }) => kind === 'opens' && start < (json?.start ?? 0)) ?? find('opens', 'inner');
    const closing = find('closes');
    const isRest = !json && !opening && !find('name');
    const isAtEnd = text.slice(end).trim() === '';
    const named = (token: Token): string => this.#textOf(token).trim();
    const name = find('name');
    if (name && !opening && json?.kind !== 'key' && name.start < (json?.start ?? Infinity))
      return { reason: 'a call has no mark before it', isRest };
    if (json) {
      const place =
        opening && opening.start < json.start
          ? `after ${named(opening)}`
          : json.kind === 'data' && closing
            ? `before ${named(closing)}`
            : 'of a call';
      return { reason: `the JSON ${place} ${this.#whyNoCall(json, isAtEnd)}`, isRest };
    }
    const cutOff = find('cutOff');
    if (cutOff && !opening)
      return { reason: 'the text ends inside a mark of a call', isRest: /^.\|?\//.test(named(cutOff)) };
    if (opening)
      return {
        reason:
          isAtEnd && !closing
            ? `the text ends inside the call that ${named(opening)} opens`
            : `no call follows ${named(opening)}`,
        isRest,
      };
    const mark = closing ?? tokens[0];
    return { reason: mark ? `${named(mark)} ${closing ? 'closes no call' : 'is no mark of a call'}` : '', isRest };
  }

  #whyNoCall(json: Token, isAtEnd: boolean): string {
    if (json.kind === 'key') return 'lacks its opening brace';
    if (json.kind === 'opener')
      return isAtEnd && json.pair === undefined ? 'is cut off by the end of the text' : 'is malformed';
    const parsed = parseJsonAt(this.#text, json.start, { lenient: true });
    const why = parsed.ok ? whyNoCall(parsed.value, this.#options.toolNames) : undefined;
    return why ?? (json.kind === 'call' ? 'has a mark of a call in it' : 'is no call');
  }

  /** Whether a sentence has a mark as a word of its own: prose stands before it, and after it on the line. */
  #isMentioned({ start, end }: Token): boolean {
    const before = this.#text.slice(Math.max(0, start - maxEdge), start);
    return (
      /[\p{L}\p{N},.;:!?)][ \t]*$/u.test(before) &&
      /^(?:[.,;!?)]|[ \t]+[\p{L}(])/u.test(this.#text.slice(end, end + maxEdge))
    );
  }

  #after({ end }: Token): string {
    return this.#text.slice(end, end + maxEdge);
  }

  #textOf({ start, end }: Token): string {
    return this.#text.slice(start, end);
  }
}

/** Where a block has arrived, and what is open there. */
interface Growth {
  readonly first: number;
  readonly seed: number;
  /** Index of the token that is looked at, and of the last one that is a part; the end of that. */
  at: number;
  last: number;
  end: number;
  isOpen: boolean;
  /** How many brackets are open that nothing closes. */
  depth: number;
}

const seeds: ReadonlySet<TokenKind> = new Set(['opens', 'closes', 'inner', 'cutOff', 'call', 'key']);
const maxEdge = 40;
const maxIndent = 16;
const maxDepth = 64;

/** Whether a text has a sentence, or three words in a row. */
const isProse = (text: string): boolean => {
  const bare = text.replaceAll(/"[^"\n]*"/g, ' ');
  return /[.!?]["')]?\s/.test(bare) || /(?<!\p{L})\p{L}+[ \t]+\p{L}+[ \t]+\p{L}/u.test(bare);
};

/** Whether a sentence goes on after what looks like the broken mark that opens a call. */
const isNamed = (tag: string, after: string): boolean => !tag.includes('/') && /^[ \t]+[^\s{[<"']|^[.,;!?]/.test(after);
