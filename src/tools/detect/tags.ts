import { skipInlineCode } from './markdownCode.ts';
import type { SkipReasoning } from '../reasoning/reasoningSpans.ts';

/** A tag that models write before calls. */
export interface TagKind {
  readonly opens: string;
  readonly closes: string | undefined;
  /** What follows the tag; after `arguments` tags the tag itself has the name. */
  readonly holds: 'calls' | 'calls or a name' | 'arguments';
}

/** A tag in a text; `end` is exclusive. */
export interface Tag {
  readonly kind: TagKind;
  readonly start: number;
  readonly end: number;
}

const tagKinds: readonly TagKind[] = [
  { opens: '<tool_call>', closes: '</tool_call>', holds: 'calls' },
  { opens: '<|tool_call|>', closes: '<|/tool_call|>', holds: 'calls' },
  { opens: '<function_call>', closes: '</function_call>', holds: 'calls' },
  { opens: '<|python_tag|>', closes: undefined, holds: 'calls' },
  { opens: '[TOOL_CALLS]', closes: '[/TOOL_CALLS]', holds: 'calls or a name' },
  { opens: '<function=', closes: '</function>', holds: 'arguments' },
];
const endTokens = [
  '<|im_end|>',
  '<|eot_id|>',
  '<|eom_id|>',
  '<|end_of_text|>',
  '<|endoftext|>',
  '<|end|>',
  '<end_of_turn>',
  '<eos>',
  '</s>',
];

const alternatives = (texts: Iterable<string>): string =>
  [...texts].map((text) => text.replace(/[[\]|]/g, '\\$&')).join('|');
const openingPattern = alternatives(tagKinds.map(({ opens }) => opens)).replace('<function=', '<function=[^\\s<>]+>');
const closingPattern = alternatives(tagKinds.flatMap(({ closes }) => closes ?? []));

const openingOrCode = new RegExp(`\`+|${openingPattern}`, 'g');
const openingAtIndex = new RegExp(openingPattern, 'y');
const afterCall = new RegExp(`(?:\\s*(?:[\\]}]|${closingPattern}|${alternatives(endTokens)}))*`, 'y');

/** A closing tag, whichever it closes; sticky. */
export const closingTag = new RegExp(closingPattern, 'y');

/** The first tag at or after an index that is neither in reasoning nor in Markdown code. */
export function nextTag(text: string, index: number, skipReasoning: SkipReasoning): Tag | undefined {
  let searchFrom = index;
  for (;;) {
    openingOrCode.lastIndex = searchFrom;
    const start = openingOrCode.exec(text)?.index;
    if (start === undefined) return undefined;
    searchFrom = skipReasoning(start);
    if (searchFrom > start) continue;
    if (text[start] !== '`') return toTag(text, start, openingOrCode.lastIndex);
    searchFrom = skipInlineCode(text, start);
  }
}

/** The tag that starts exactly at an index. */
export function tagAt(text: string, index: number): Tag | undefined {
  openingAtIndex.lastIndex = index;
  return openingAtIndex.test(text) ? toTag(text, index, openingAtIndex.lastIndex) : undefined;
}

/** The name of the tool in a tag such as `<function=name>`. */
export const toolNameIn = (text: string, { kind, start, end }: Tag): string =>
  text.slice(start + kind.opens.length, end - 1);

/** The index after the closing tags, stray brackets and end tokens that follow a call. */
export function skipClosers(text: string, index: number): number {
  afterCall.lastIndex = index;
  afterCall.test(text);
  return afterCall.lastIndex;
}

/** A text without the end tokens and the white space at its end. */
export function withoutEndTokens(text: string): string {
  let rest = text.trimEnd();
  for (let token = lastEndToken(rest); token !== undefined; token = lastEndToken(rest)) {
    rest = rest.slice(0, -token.length).trimEnd();
  }
  return rest;
}

const lastEndToken = (text: string): string | undefined => endTokens.find((token) => text.endsWith(token));

function toTag(text: string, start: number, end: number): Tag | undefined {
  const kind = tagKinds.find(({ opens }) => text.startsWith(opens, start));
  return kind && { kind, start, end };
}
