import type { TextRange } from '../marks.ts';
import { whyNoCall } from './callLikeJson.ts';
import { type LooseJson, structureEnd } from './looseJson.ts';
import { isMentioned, type MarkFinder, type MarkItem } from './markFinder.ts';
import { type MarkupItem, scanMarkup } from './markupScanner.ts';
import { startsWithName, type ToolNameFinder } from './toolNames.ts';

/** A range of a text that is markup of a call, and why it gave none; `end` is exclusive. */
export interface MalformedBlock extends TextRange {
  readonly reason: string;
  /** What it holds: the call itself, only its mark, or what may remain around a call that was read. */
  readonly holds: 'call' | 'mark' | 'rest';
}

/** What is known of a reply. */
export interface MarkupOptions {
  /** The names of the declared tools. */
  readonly toolNames: ReadonlySet<string>;
  /** Whether JSON without a mark may be a call. */
  readonly isBareSearched: boolean;
  /** Whether the reply has calls, so that a closing mark may be what remains of one. */
  readonly hasCalls: boolean;
}

/** What the search for markup knows. */
interface MarkupContext extends MarkupOptions {
  readonly finder: MarkFinder;
  readonly names: ToolNameFinder;
}

/** The blocks of markup in a text, and the JSON that is data: a mark in it is a part of a string. */
export interface FoundBlocks {
  readonly blocks: readonly MalformedBlock[];
  readonly data: readonly LooseJson[];
}

/** Finds the blocks of markup in a text whose calls are taken out, in order. Takes time linear in the text. */
export const malformedBlocks = (text: string, context: MarkupContext): FoundBlocks =>
  new BlockReader(text, context).read();

// What follows it belongs to the call up to the end of the text, whatever it is.
const neverClosed = '<|python_tag|>';

/** Reads the marks and the JSON of a text as blocks. */
class BlockReader {
  readonly #text: string;
  readonly #context: MarkupContext;
  readonly #items: readonly MarkupItem[];
  /** Index of the next item. */
  #next = 0;

  constructor(text: string, context: MarkupContext) {
    this.#text = text;
    this.#context = context;
    this.#items = scanMarkup(text, context.finder);
  }

  read(): FoundBlocks {
    const { finder, isBareSearched } = this.#context;
    const blocks: MalformedBlock[] = [];
    const data: LooseJson[] = [];
    for (let item = this.#items[0]; item; item = this.#items[this.#next]) {
      this.#next++;
      const block = item.kind === 'json' ? this.#jsonBlock(item, blocks.at(-1)) : this.#markBlock(item);
      if (block) blocks.push(block);
      else if (item.kind === 'json') data.push(item);
    }
    const cutOff = finder.cutOffFrom(this.#text);
    if (cutOff !== undefined && cutOff >= (blocks.at(-1)?.end ?? 0)) blocks.push(cutOffMark(this.#text, cutOff));
    return { blocks: isBareSearched ? this.#withNamedCalls(blocks) : blocks, data };
  }

  /** The blocks, and the calls between them that begin with the name of a tool. */
  #withNamedCalls(blocks: readonly MalformedBlock[]): readonly MalformedBlock[] {
    let from = 0;
    return [...blocks, undefined].flatMap((block) => {
      const offset = from;
      const between = this.#text.slice(from, block?.start);
      from = block?.end ?? from;
      const calls = this.#context.names.calls(between, block !== undefined).map(({ start, end }) => {
        return { ...unmarked, start: offset + start, end: offset + end };
      });
      return block ? [...calls, block] : calls;
    });
  }

  #jsonBlock(json: LooseJson, last: MalformedBlock | undefined): MalformedBlock | undefined {
    const { start, end } = json;
    const after = this.#items[this.#next];
    const closing = after?.kind === 'closes' && this.#isLink(end, after.start) ? after : undefined;
    const why = this.#context.isBareSearched || closing ? this.#whyNoCall(json) : undefined;
    if (closing) {
      this.#next++;
      const reason = `the JSON before ${this.#textOf(closing)} ${why ?? 'is no call'}`;
      return { start, end: closing.end, reason, holds: 'call' };
    }
    if (why !== undefined) return { start, end, reason: `the JSON of a call ${why}`, holds: 'call' };
    // Malformed JSON directly after a block is a part of the same call.
    const isRest = json.value === undefined && last && this.#isLink(last.end, start);
    return isRest ? { start, end, reason: 'the JSON of a call is malformed', holds: 'call' } : undefined;
  }

  #markBlock(item: MarkItem): MalformedBlock {
    const { start, end, kind } = item;
    const mark = this.#textOf(item);
    if (kind === 'closes') return { start, end, reason: `${mark} closes no call`, holds: 'rest' };
    if (isMentioned(this.#text.slice(Math.max(0, start - 40), start), this.#text.slice(end, end + 40)))
      return { start, end, reason: `no call follows ${mark}`, holds: 'mark' };
    return this.#openedBlock(item, mark);
  }

  /**
   * What a mark opens:
   *
   * | after the mark                                      | it ends                                                 |
   * | --------------------------------------------------- | ------------------------------------------------------- |
   * | anything with a closing mark                        | after the last closing mark before the next opening one |
   * | JSON, perhaps after a name                          | after the JSON                                          |
   * | other marks, or the beginning of a call             | at the next opening mark, or at the end of the text     |
   * | prose, or nothing                                   | at once                                                 |
   */
  #openedBlock(opening: MarkItem, mark: string): MalformedBlock {
    const text = this.#text;
    const items = this.#items;
    const { start } = opening;
    const before = items[this.#next - 2];
    let { end } = opening;
    let hasInner = opening.kind === 'inner';
    let json: LooseJson | undefined;
    let isClosed = false;
    for (let item = items[this.#next]; item && item.kind !== 'opens'; item = items[++this.#next]) {
      if (isClosed && item.kind !== 'closes' && !(item.kind === 'inner' && this.#isLink(end, item.start))) break;
      if (item.kind === 'json') {
        const isPart = hasInner || isHead(text.slice(end, item.start)) || items[this.#next + 1]?.kind === 'closes';
        if (!isPart) break;
        json = item;
      } else {
        hasInner ||= item.kind === 'inner';
        isClosed = item.kind === 'closes';
      }
      end = item.end;
    }
    const nextStart = items[this.#next]?.start ?? text.length;
    const rest = text.slice(end, nextStart);
    const isInJson = before?.kind === 'json' && before.end === start && before.cutOffBy === 'a mark';
    if (!isClosed) {
      const isOpenEnded = json ? json.cutOffBy !== undefined : hasInner || mark === neverClosed;
      if (isOpenEnded || (!json && this.#startsBody(rest, nextStart === text.length))) end = nextStart;
      else if (isInJson && !json) end = structureEnd(text.slice(0, nextStart), end);
    }
    const holds = end > opening.end ? 'call' : 'mark';
    if (json) return { start, end, reason: `the JSON after ${mark} ${this.#whyJson(json)}`, holds };
    const isCutOff = !isClosed && nextStart === text.length && text.slice(end).trim() === '';
    const reason = isCutOff ? `the text ends inside the call that ${mark} opens` : `no call follows ${mark}`;
    return { start, end, reason, holds };
  }

  /** Whether a text after a mark can only be a call: a name, or a word and a bracket. */
  #startsBody(text: string, isLast: boolean): boolean {
    const { toolNames } = this.#context;
    if (text.trim() === '' || bodyStart.test(text) || startsWithName(text, toolNames)) return true;
    // Where no tools are known, the last word may be the beginning of a name.
    return isLast && toolNames.size === 0 && /^\s*[\w.-]{1,64}$/.test(text);
  }

  #whyJson(json: LooseJson): string {
    const why = this.#whyNoCall(json);
    if (why !== undefined) return why;
    if (json.cutOffBy === 'the end of the text') return 'is cut off by the end of the text';
    return json.value === undefined ? 'is malformed' : 'is no call';
  }

  #whyNoCall(json: LooseJson): string | undefined {
    return whyNoCall(this.#text, json, this.#context.finder, this.#context.toolNames);
  }

  #isLink(from: number, to: number): boolean {
    return isLink(this.#text.slice(from, to));
  }

  #textOf({ start, end }: MarkItem): string {
    return this.#text.slice(start, end);
  }
}

const unmarked = { reason: 'a call has no mark before it', holds: 'call' } as const;

const cutOffMark = (text: string, start: number): MalformedBlock => ({
  start,
  end: text.length,
  reason: 'the text ends inside a mark of a call',
  holds: text[start + 1] === '/' || text[start + 2] === '/' ? 'rest' : 'mark',
});

/** Whether a text between two parts of a call is only punctuation, with code fences. */
export const isLink = (text: string): boolean => /^[\s,;:[\](){}"'`]*(?:```\w+[\s,;:[\](){}"'`]*)*$/.test(text);

/** Whether a text before JSON is at most the name of a call, as some formats write it. */
const isHead = (text: string): boolean => /^\W*(?:json\s\W*)?(?:\w[^\s"'{}()]{0,63}(?!\w)\W*)?$/.test(text);

const bodyStart = /^\s*[^\s{}()[\]"'<>=]{1,64}[{([="<]/;
