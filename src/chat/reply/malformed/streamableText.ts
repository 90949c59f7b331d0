import type { CallMarkup, MalformedCall } from '../../tool.ts';
import { commonPrefixLength } from '../../../base/commonPrefix.ts';
import { commonMarkup } from '../detect/tags.ts';
import { MarkSearch } from '../../markSearch.ts';
import { markFinder } from '../markFinder.ts';
import { splitMarkup } from '../splitMarkup.ts';
import { callStartPattern } from '../tokens.ts';

export interface StreamableTextOptions {
  /** The marks of the format's calls; default: those that all models know. */
  readonly markup?: CallMarkup | undefined;
  /** The names of the declared tools; absent: the node reads no calls, so that only marks are markup. */
  readonly toolNames?: ReadonlySet<string>;
}

/**
 * The text of a reply that can be sent while it is generated: what cannot be a part of a call any more, whatever follows.
 * From a mark of a call on, all waits for the end of the reply; in a node that reads calls, also from the start of JSON or
 * a tool's name before a bracket on. There a word waits for the white space after it, and one with a character of markup
 * for a word of prose. Reasoning is filtered before. Takes time linear in the text.
 */
export class StreamableText {
  readonly #marks: MarkSearch;
  readonly #calls: RegExp | undefined;
  readonly #words: ReadonlySet<string>;
  protected sent = '';
  /** Text that may be a part of a call. */
  protected held = '';
  #isStopped = false;

  constructor({ markup = commonMarkup, toolNames }: StreamableTextOptions) {
    const marks = [...markup.opens, ...markup.closes, ...markup.inner];
    this.#marks = toolNames ? new MarkSearch(marks) : markFinder(markup);
    this.#calls = toolNames && callStartPattern(toolNames);
    this.#words = new Set([...callWords, ...[...(toolNames ?? [])].map((name) => name.toLowerCase())]);
  }

  /** Takes the next piece of text and returns what can be sent. */
  push(piece: string): string {
    this.held += piece;
    if (this.#isStopped) return '';
    if (this.#calls && this.sent === '') this.held = this.held.trimStart();
    const found = this.#marks.next(this.held, 0, false);
    const decided = typeof found === 'number' ? found : found.start;
    // Another letter may make another word of it.
    const isMark = typeof found !== 'number' && found.end < this.held.length;
    const call = this.#calls ? this.held.search(this.#calls) : -1;
    this.#isStopped = isMark || call >= 0;
    const end = call < 0 ? decided : Math.min(decided, call);
    const text = this.held.slice(0, this.#calls ? this.#proseEnd(end) : contentEnd(this.held, end));
    this.held = this.held.slice(text.length);
    this.sent += text;
    return text;
  }

  /** What remains to be sent of the answer, once the whole reply is parsed. */
  rest(answer: string): string {
    // They differ only in white space at the start, and where markup with mistakes was taken out around what was sent.
    const content = this.sent === '' ? answer : answer.trimStart();
    return content.slice(commonPrefixLength(content, this.sent.trimStart()));
  }

  /** Index up to which what is held is prose, looking no further than `end`. */
  #proseEnd(end: number): number {
    const from = Math.max(0, end - maxHeld);
    const words = [...this.held.slice(from, end).matchAll(word)];
    // The last word may go on; marks and names have no letters of other scripts.
    if (end === this.held.length && /[!-~]$/.test(this.held)) words.pop();
    for (const { 0: found, index } of words.reverse()) {
      const prose = this.#isMarkup(found) ? '' : found.replace(looseEnd, '');
      if (prose !== '') return from + index + prose.length;
    }
    return from;
  }

  #isMarkup(word: string): boolean {
    const [name = ''] = /(?<![A-Za-z0-9-])[A-Za-z0-9-]*$/.exec(word.replace(/(?<!\W)\W+$/, '')) ?? [];
    return markupCharacter.test(word) || this.#words.has(name.toLowerCase());
  }
}

/**
 * Takes markup of calls out of text that arrives in pieces, for a node that reads no calls: marks with what belongs to
 * them. JSON without a mark stays, as do Markdown code and prose around a mark. What follows the first mark waits for the
 * end. Reasoning is filtered before. How the text is cut into pieces makes no difference.
 */
export class CallMarkupFilter extends StreamableText {
  readonly #markup: CallMarkup;
  /** The markup that was taken out, once all text is there. */
  unread: readonly MalformedCall[] = [];

  /** @param markup the marks of the model's calls; default: those that all models know. */
  constructor(markup: CallMarkup = commonMarkup) {
    super({ markup });
    this.#markup = markup;
  }

  /** Returns what was held back and is no markup, at the end of the text. */
  flush(): string {
    const options = { toolNames: new Set<string>(), isBareSearched: false, from: this.sent.length };
    const [answer, unread] = splitMarkup(this.sent + this.held, this.#markup, false, options);
    this.unread = unread;
    return this.rest(answer);
  }
}

/** Index before the line breaks and the code fence that a text up to an index ends with: they may belong to markup. */
function contentEnd(text: string, end: number): number {
  const start = Math.max(0, end - 40);
  return start + text.slice(start, end).search(/(?:\n\s{0,40})?(?:`{1,40}|`{3,40}[\w+-]{0,16}\s{0,40})?$/);
}

const word = /[!-~]+|[^\x00-~\xa0]+/g;
// Words that markup with a mistake in it may begin with.
const callWords =
  'name tool tools call calls action function functions functools arguments parameters args input json tool_call tool_calls'.split(
    ' ',
  );
const markupCharacter = /[<>[\]{}|`_=\\"“”#*/]/;
/** Punctuation that belongs to a call after it. */
const looseEnd = /(?<![,;:('"])[,;:('"]+$/;
// Markup that is longer than this is text.
const maxHeld = 256;
