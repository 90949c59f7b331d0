import type { CallMarkup } from '../../tool.ts';
import { commonPrefixLength } from '../../../base/commonPrefix.ts';
import { commonMarkup } from '../detect/tags.ts';
import { MarkSearch } from '../marks.ts';
import { keyWithoutBraceAt, isJsonStart } from './looseJson.ts';
import { namedCallPattern } from './toolNames.ts';

/** What a StreamableText knows of the reply. */
export interface StreamableTextOptions {
  /** The marks of the format's calls; default: those that all models know. */
  readonly markup?: CallMarkup | undefined;
  /** The names of the declared tools. */
  readonly toolNames: ReadonlySet<string>;
}

/**
 * The text of a reply that can be sent while it is generated, in a node that reads calls: what cannot be a part of a call
 * any more, whatever follows. A word waits for the white space after it; a word with a character of markup waits for a word
 * of prose. From a mark of a call, the start of JSON or a tool's name before a bracket on, all waits for the end of the
 * reply. Reasoning is filtered before. Takes time linear in the text.
 */
export class StreamableText {
  readonly #marks: MarkSearch;
  readonly #named: RegExp | undefined;
  readonly #words: ReadonlySet<string>;
  #sent = '';
  /** Text that may be a part of a call. */
  #held = '';
  #isStopped = false;

  constructor({ markup = commonMarkup, toolNames }: StreamableTextOptions) {
    this.#marks = new MarkSearch([...markup.opens, ...markup.closes, ...markup.inner]);
    this.#named = namedCallPattern(toolNames);
    this.#words = new Set([...callWords, ...[...toolNames].map((name) => name.toLowerCase())]);
  }

  /** Takes the next piece of text and returns what can be sent. */
  push(piece: string): string {
    if (this.#isStopped) return '';
    this.#held += piece;
    if (this.#sent === '') this.#held = this.#held.trimStart();
    const found = this.#marks.next(this.#held, 0, false);
    const decided = typeof found === 'number' ? found : found.start;
    const start = Math.min(found === decided ? Infinity : decided, this.#callStart());
    this.#isStopped = start < Infinity;
    const text = this.#held.slice(0, this.#proseEnd(Math.min(decided, start)));
    this.#held = this.#held.slice(text.length);
    this.#sent += text;
    return text;
  }

  /** What remains to be sent of the answer, once the whole reply is parsed. */
  rest(answer: string): string {
    // They differ only where markup with mistakes was taken out around what was sent.
    return answer.slice(commonPrefixLength(answer, this.#sent));
  }

  /** Where a call without a mark may start in what is held; Infinity: nowhere. */
  #callStart(): number {
    const text = this.#held;
    const opener = [...text.matchAll(/[[{"'“]/g)].find(({ index, 0: character }) =>
      '[{'.includes(character)
        ? isJsonStart(text, index) && /\S/.test(text.slice(index + 1))
        : keyWithoutBraceAt(text, index) !== undefined,
    );
    const named = this.#named ? text.search(this.#named) : -1;
    return Math.min(opener?.index ?? Infinity, named < 0 ? Infinity : named);
  }

  /** Index up to which what is held is prose, looking no further than `end`. */
  #proseEnd(end: number): number {
    const text = this.#held;
    // A word may go on; marks and names have no letters of other scripts.
    let proseEnd = end < text.length ? end : startOf(wordCharacter, text, end, end - maxHeld);
    const least = Math.max(0, proseEnd - maxHeld);
    while (proseEnd > least) {
      const wordEnd = startOf(space, text, proseEnd, least);
      const wordStart = startOf(wordCharacter, text, wordEnd, least);
      const word = text.slice(wordStart, wordEnd);
      const prose = this.#isMarkup(word) ? '' : word.replace(looseEnd, '');
      if (prose !== '' || wordStart === proseEnd) return wordStart + prose.length;
      proseEnd = wordStart;
    }
    return least;
  }

  #isMarkup(word: string): boolean {
    const [name = ''] = /(?<![A-Za-z0-9-])[A-Za-z0-9-]*$/.exec(word.replace(/(?<!\W)\W+$/, '')) ?? [];
    return markupCharacter.test(word) || this.#words.has(name.toLowerCase());
  }
}

/** Start of the characters of one kind that end at an index; not before `least`. */
function startOf(kind: RegExp, text: string, end: number, least: number): number {
  let start = end;
  while (start > Math.max(0, least) && kind.test(text.charAt(start - 1))) start--;
  return start;
}

const space = /[\x00- \xa0]/;
const wordCharacter = /[!-~]/;

// Words that markup with a mistake in it may begin with.
const callWords = 'name tool tools function functions arguments parameters args input json tool_call tool_calls'.split(
  ' ',
);
const markupCharacter = /[<>[\]{}|`_=\\"“”#*/]/;
/** Punctuation that belongs to a call after it. */
const looseEnd = /(?<![,;:('"])[,;:('"]+$/;
// Markup that is longer than this is text.
const maxHeld = 256;
