import type { CallMarkup, MalformedCall } from '../tool.ts';
import { type TextRange, withoutRanges } from '../markSearch.ts';
import { noMarks } from './markFinder.ts';
import { callWord, type Token, type TokenKind, type TokenOptions, tokensOf } from './tokens.ts';
import { type Reason, reasonOf } from './reasons.ts';
import { opensResult, resultSkipper } from './toolResults.ts';

type Split = readonly [answer: string, unread: readonly MalformedCall[]];

/** Takes markup of calls out of a text without calls, in linear time. @param hasCalls whether there were some. */
export function splitMarkup(text: string, markup: CallMarkup, hasCalls: boolean, options: TokenOptions): Split {
  const { cutOffAt, ...ofWhole } = options;
  let blocks = new BlockReader(text, markup, options).read();
  if (cutOffAt !== undefined && !blocks.some(({ start, end }) => start <= cutOffAt && end > cutOffAt)) {
    const known = text.slice(0, cutOffAt).trimEnd();
    const before = new BlockReader(known, markup, ofWhole).read();
    const cutOff = { start: cutOffAt, end: text.length, hasMark: false, isRest: false };
    blocks = [...before, { ...cutOff, reason: 'a call is cut off by the end of the text' }];
  }
  const unread = blocks.filter(({ isRest }) => !(isRest && hasCalls));
  const malformed = unread.map(({ start, end, reason }) => ({ text: text.slice(start, end).trim(), reason }));
  return [withoutRanges(text, blocks), malformed];
}

/** The calls of a text that were read, with their surroundings. @param isForeign whether other models' marks belong. */
export function callBlocks(text: string, read: readonly TextRange[], isForeign: boolean): readonly Block[] {
  return new BlockReader(text, noMarks, { toolNames: new Set(), isBareSearched: isForeign, read }).read();
}

// What follows it belongs to the call up to the end of the text, whatever it is.
const neverClosed = '<|python_tag|>';
const seeds: ReadonlySet<TokenKind> = new Set(['opens', 'closes', 'inner', 'cutOff', 'call', 'key']);
const maxDepth = 64;
const maxEdge = 40;

/** A call, or what may be one. */
interface Block extends TextRange, Reason {
  /** Whether a mark of another model stands around it. */
  readonly hasMark: boolean;
}

/** A block that grows: the indexes of its tokens, and what is open in it. */
interface Growth {
  /** Its first token, and the one for which it is a block. */
  readonly first: number;
  readonly seed: number;
  /** The token that is looked at, and the last one that is a part; the end of that. */
  at: number;
  last: number;
  end: number;
  isOpen: boolean;
  /** How many brackets are open that nothing closes. */
  depth: number;
}

/** Blocks grow from a token that only calls have, over what is no prose, or over JSON while a mark is open. */
class BlockReader {
  readonly #text: string;
  readonly #tokens: readonly Token[];
  readonly #options: TokenOptions;
  /** Whether the blocks are those of calls that were read. */
  readonly #isRead: boolean;
  /** Index from which the next block may start. */
  #from: number;

  constructor(text: string, markup: CallMarkup, options: TokenOptions) {
    this.#text = text;
    this.#tokens = tokensOf(text, markup, options);
    this.#options = options;
    this.#isRead = options.read !== undefined;
    this.#from = options.from ?? 0;
  }

  read(): readonly Block[] {
    const text = this.#text;
    const blocks: Block[] = [];
    const skipResults = resultSkipper(text);
    let [from, next] = [0, 0];
    for (const seed of this.#tokens) {
      if (seed.at < from || !this.#isSeed(seed)) continue;
      const growth = this.#grow(seed);
      const tokens = this.#tokens.slice(this.#start(growth), growth.last + 1);
      const start = tokens[0]?.start ?? 0;
      // Quotes around a mark go with it.
      const isQuoted = /["'“]/.test(text[start] ?? '') && /["'”]/.test(text[growth.end] ?? '');
      const block = { start, end: growth.end + Number(isQuoted) };
      next = Math.max(next, growth.last + 1);
      while (next < this.#tokens.length && !/read|opens/.test(this.#tokens[next]?.kind ?? '')) next++;
      this.#from = skipResults(block, this.#tokens[next]?.start ?? text.length);
      const isLast = text.slice(this.#from).trim() === '';
      const hasMark = tokens.some(({ kind, text: mark }) => /foreign|opener/.test(kind) && callWord.test(mark));
      blocks.push({ start, end: this.#from, hasMark, ...reasonOf(tokens, isLast, this.#options.toolNames) });
      from = growth.last + 1;
    }
    return blocks;
  }

  #isSeed(token: Token): boolean {
    if (token.start < this.#from) return false;
    // An invented result may stand anywhere after a call.
    if (this.#isRead && token.kind === 'foreign') return this.#from > 0 && opensResult(token.text);
    if (this.#isRead || token.kind === 'read') return token.kind === 'read';
    if (token.kind === 'name') return this.#isNamedCall(token, this.#from);
    return seeds.has(token.kind) || this.#isAlone(token);
  }

  #isAlone({ kind, text, start, end }: Token): boolean {
    const after = this.#after(end);
    if (/^<[/|]*\w+$/.test(text) && after.startsWith('{')) return true;
    if (!/^<[/|]*\w*$|^\[\w+$/.test(text)) return kind === 'broken' && text.includes('_') && !isNamed(text, after);
    const before = this.#text.slice(Math.max(0, start - maxEdge), start);
    return /(?:^|\n)[ \t]{0,40}$/.test(before) && /^[ \t]*(?:\n|$)/.test(after);
  }

  /** Whether a name begins a call: `name{` does anywhere, `name(` where a line or a list has only that, or before a mark. */
  #isNamedCall(name: Token, from: number): boolean {
    const opener = this.#tokens[name.at + 1];
    if (!opener || opener.gap.trim() !== '' || !/^[{(]/.test(opener.text)) return false;
    if (opener.text !== '(') return opener.kind !== 'opener' || opener.isJson === true;
    const end = opener.pair?.end ?? opener.end;
    let next = this.#tokens[(opener.pair ?? opener).at + 1];
    while (next?.gap.trim() === '' && /^[\],;]/.test(next.text)) next = this.#tokens[next.at + 1];
    const isMarked = opener.pair !== undefined && next?.gap.trim() === '' && seeds.has(next.kind);
    if (isMarked && next?.start === end) return true;
    const start = Math.max(from, name.start - 16);
    const before = this.#text.slice(start, name.start);
    const isFirst = /[\n[][ \t,;]{0,16}$/.test(before) || (start === from && /^[ \t,;[]*$/.test(before));
    const isAlone = name.at === 0 && !next && `${name.gap}${this.#text.slice(end)}`.trim() === '';
    const isListed = isAlone || /[[,;]\s{0,16}$/.test(before);
    const given = this.#text.slice(name.end, opener.end + maxEdge);
    const isCall = callArguments.test(given) || (isListed && /^\s*\(\s*\)/.test(given));
    return (
      isFirst && isCall && (isMarked || !opener.pair || /^[ \t\],;]*(?:\n|$|[\w.:]{1,64}\()/.test(this.#after(end)))
    );
  }

  /** The outermost bracket of malformed JSON around a token, without prose in between; else the token itself. */
  #group(seed: Token): Token {
    let group = seed;
    for (let depth = 0; depth < maxDepth && !this.#isRead; depth++) {
      const opener = group.parent;
      if (!opener?.isJson || opener.start < this.#from) break;
      const before = this.#text.slice(opener.end, group.start);
      // Data that is cut off before a call is no part of it.
      const isApart = /opens|call/.test(seed.kind) && /[^:,\s]\s{1,8}$/.test(before.slice(-maxEdge));
      if (!opener.pair && (isApart || isProse(before))) break;
      group = opener;
    }
    return group;
  }

  #grow(token: Token): Growth {
    const tokens = this.#tokens;
    const [first, seed] = [this.#group(token).at, token.at];
    const growth: Growth = { first, seed, at: first, last: first, end: 0, isOpen: false, depth: 0 };
    for (let part = tokens[first]; part; part = tokens[++growth.at]) {
      const isBefore = part.at <= seed;
      const isPart = isBefore || this.#goesOn(part, growth.isOpen) ? this.#accept(growth, part) : undefined;
      if (isPart === undefined && !isBefore) break;
      if (isPart || isBefore) Object.assign(growth, { last: growth.at, end: tokens[growth.at]?.end });
    }
    const isCutOff = growth.end > (this.#options.cutOffAt ?? Infinity);
    if (isCutOff || (growth.at >= tokens.length && this.#reachesEnd(growth)))
      Object.assign(growth, { last: tokens.length - 1, end: this.#text.length });
    return growth;
  }

  /** Whether no prose stands before a token to which a block may go on. */
  #goesOn({ at, gap, kind, text }: Token, isOpen: boolean): boolean {
    const previous = this.#tokens[at - 1];
    if (!previous) return false;
    if (gap.trim() === '' || (isOpen && isBeforeValue(previous))) return true;
    if (kind === 'closes' && !/^\s|\s$/.test(gap)) return gap.length <= maxEdge;
    // One word that belongs to the token.
    if (!/^\s*\S+$/.test(gap) || isProse(gap) || /^[\n,;]/.test(text)) return false;
    return isOpen || (!previous.text.startsWith('\n') && (!/^\s/.test(gap) || text === '"'));
  }

  /** Whether the token at which a block has arrived is a part of it; false: if a part follows; undefined: it is none. */
  #accept(growth: Growth, token: Token): boolean | undefined {
    const { isOpen, seed } = growth;
    const { kind, text, at } = token;
    const next = this.#tokens[at + 1];
    switch (kind) {
      case 'opens':
      case 'inner':
        return this.#acceptMark(growth, token);
      case 'opener':
      case 'closer':
        return this.#acceptBracket(growth, token);
      case 'closes':
      case 'cutOff':
        [growth.isOpen, growth.depth] = [false, 0];
        return true;
      case 'key':
      case 'name':
        if (kind === 'name' && !isOpen && at !== seed && !this.#isNamedCall(token, growth.end)) return undefined;
        growth.isOpen = true;
        return true;
      case 'call':
      case 'data':
        // Data is a part before what closes nothing else.
        if (kind === 'data' && !isOpen && (next?.pair ?? !/closes|closer/.test(next?.kind ?? ''))) return undefined;
        growth.isOpen = growth.depth > 0;
        return kind === 'call' || isOpen;
      case 'read':
        return true;
      case 'broken':
      case 'foreign':
        if (!isOpen && (isNamed(text, this.#after(token.end)) || this.#opensNext(token))) return undefined;
        growth.isOpen ||= kind === 'broken' && !text.includes('/');
        return true;
      case 'sign':
        if (!isOpen && text.startsWith('<')) return undefined;
        // The rest of a mark.
        return text === '>' && /^[\w|=/.-]{0,24}$/.test(this.#text.slice(growth.end, token.start));
      default:
        return kind === 'code' ? undefined : isOpen;
    }
  }

  /** Whether a mark after a call that was read opens JSON that is none. */
  #opensNext({ at, text, end }: Token): boolean {
    const isRead = this.#tokens[at + 1]?.kind === 'read';
    return this.#isRead && !isRead && !text.includes('/') && /^\s*[[{]/.test(this.#after(end));
  }

  #acceptMark(growth: Growth, token: Token): true | undefined {
    const { at, isOpen, seed, last } = growth;
    // After the mark that closes a call, another call begins.
    if (token.kind === 'opens' && !isOpen && at > seed && this.#tokens[last]?.kind === 'closes') return undefined;
    const isMentioned = this.#isMentioned(token);
    growth.isOpen = !isMentioned && token.pair === undefined;
    if (token.pair && !isMentioned) growth.at = token.pair.at;
    else if (growth.isOpen && token.text === neverClosed)
      while (!['opens', undefined].includes(this.#tokens[growth.at + 1]?.kind)) growth.at++;
    return true;
  }

  #acceptBracket(growth: Growth, token: Token): boolean | undefined {
    const { at, isOpen, seed, first } = growth;
    const { kind, pair } = token;
    if (kind === 'closer') {
      // Brackets directly before the block are a part of it, too.
      const between = this.#text.slice(pair?.end ?? 0, this.#tokens[first]?.start);
      const isApart =
        pair !== undefined && pair.at < first && !(between.length < maxEdge && /^[\s[{(]*$/.test(between));
      if (isApart || isSmile(token, this.#text)) return undefined;
      growth.depth = Math.max(0, growth.depth - 1);
      growth.isOpen = growth.depth > 0;
      return true;
    }
    if (pair !== undefined && !isOpen && at >= seed) return undefined;
    if (pair !== undefined) growth.at = pair.at;
    else growth.depth++;
    growth.isOpen = growth.depth > 0 && (isOpen || at < seed);
    return pair !== undefined;
  }

  #reachesEnd({ isOpen, end }: Growth): boolean {
    const last = this.#tokens.at(-1);
    if (!last) return false;
    if (!isOpen) return /^[\s"'“”,;]*$/.test(this.#text.slice(end));
    const rest = this.#text.slice(last.end).trim();
    if (rest === '' || isBeforeValue(last)) return true;
    // A name, or the beginning of one.
    const names = [...this.#options.toolNames];
    const isName = (name: string): boolean => name.startsWith(rest) || rest.includes(name);
    return !/\s/.test(rest) && (names.length === 0 || names.some(isName));
  }

  /** The token with which a block starts, with what belongs to it directly before its first token. */
  #start(growth: Growth): number {
    let start = growth.first;
    for (let at = growth.first - 1; at >= 0; at--) {
      const [token, next] = [this.#tokens[at], this.#tokens[at + 1]];
      if (!token || token.start < this.#from || next?.gap.trim() !== '') break;
      const isPart = this.#isBefore(token, growth, next.gap === '');
      if (isPart === undefined) break;
      if (isPart) start = at;
    }
    return start;
  }

  /** Whether a token before a block is a part of it; false: if a part stands before it; undefined: it is none. */
  #isBefore(token: Token, { first, last }: Growth, isTight: boolean): boolean | undefined {
    const { kind, pair, text, start } = token;
    const next = this.#tokens[first]?.kind;
    const isPart = {
      opener: (pair?.at ?? -1) <= last && (pair !== undefined || text[0] !== '`' || last === this.#tokens.length - 1),
      closer: pair === undefined && !isSmile(token, this.#text),
      broken: !isClosing(text),
      foreign: !isClosing(text),
      word: next !== 'opens',
      data: next === 'closes',
    }[kind as string];
    if (isPart !== undefined) return isPart || undefined;
    if (kind === 'string' && next === 'closes') return false;
    if (kind !== 'sign') return undefined;
    if (text.startsWith('<')) return text !== '<' || isTight;
    return isTight && /["'“]/.test(text) && !/[\w.,;:!?]/.test(this.#text[start - 1] ?? '');
  }

  /** Whether a sentence has a mark as a word of its own: prose stands before it, and after it on the line. */
  #isMentioned({ start, end }: Token): boolean {
    const before = this.#text.slice(Math.max(0, start - maxEdge), start);
    return /[\p{L}\p{N},.;:!?)][ \t]*$/u.test(before) && /^(?:[.,;!?)]|[ \t]+[\p{L}(])/u.test(this.#after(end));
  }

  #after(end: number): string {
    return this.#text.slice(end, end + maxEdge);
  }
}

/** What Python's arguments begin with: a key, text in quotes or brackets, or a number alone. */
const callArguments = /^\s{0,8}\(\s{0,8}(?:\w{0,64}\s{0,8}(?:=|$)|["'“{[])|^\(\s{0,8}-?\d[\d.]{0,32}\s{0,8}[,)]/;

const isBeforeValue = ({ kind, text }: Token): boolean =>
  kind === 'opener' || kind === 'inner' || (kind === 'opens' ? text.includes('=') : /[,:=]$/.test(text));

/** Whether a bracket that nothing opens is a part of a face: `:)`. */
const isSmile = ({ start, pair }: Token, text: string): boolean =>
  pair === undefined && /[:;=<>^-]/.test(text[start - 1] ?? '');

const isClosing = (tag: string): boolean => /^(?:[<[]|&lt;)\|?\/.*[>\];]$/.test(tag);

// Of scripts that write no spaces between words, so many letters are no label any more.
const unspaced = /[。！？]|[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Mymr}]{6}/u;

/** Whether a text has a sentence, or three words in a row. */
export function isProse(text: string): boolean {
  const bare = text.replaceAll(/"[^"\n]*"/g, ' ');
  return unspaced.test(bare) || /[.!?]["')]?\s|(?<!\p{L})\p{L}+[ \t]+\p{L}+[ \t]+\p{L}/u.test(bare);
}

/** Whether a sentence goes on after what looks like the broken mark that opens a call. */
const isNamed = (tag: string, after: string): boolean =>
  !tag.includes('/') && /^[ \t]+[^\s{[<"']|^[\w.,;!?-]/.test(after);
