import { skipInlineCode } from './inlineCode.ts';
import type { SkipReasoning } from '../reasoning/reasoningSpans.ts';

/** A kind of tag that announces calls. */
export interface TagKind {
  readonly opens: string;
  readonly closes: string | undefined;
  /** What may stand between the tag and the call. */
  readonly holds: 'calls' | 'calls or a name' | 'arguments';
}

/** A tag in a text. */
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
const openingHere = new RegExp(openingPattern, 'y');
const afterCall = new RegExp(`(?:\\s*(?:[\\]}]|${closingPattern}|${alternatives(endTokens)}))*`, 'y');

/** A closing tag, whichever it closes; sticky. */
export const closingTag = new RegExp(closingPattern, 'y');

/** The first tag at or after an index that stands neither in reasoning nor in backticks. */
export function nextTag(text: string, at: number, skipReasoning: SkipReasoning): Tag | undefined {
  let from = at;
  for (;;) {
    openingOrCode.lastIndex = from;
    const start = openingOrCode.exec(text)?.index;
    if (start === undefined) return undefined;
    from = skipReasoning(start);
    if (from > start) continue;
    if (text[start] !== '`') return tagOf(text, start, openingOrCode.lastIndex);
    from = skipInlineCode(text, start);
  }
}

/** The tag that starts exactly at an index. */
export function tagAt(text: string, at: number): Tag | undefined {
  openingHere.lastIndex = at;
  return openingHere.test(text) ? tagOf(text, at, openingHere.lastIndex) : undefined;
}

/** The name of the tool that a tag itself says. */
export const toolNameIn = (text: string, { kind, start, end }: Tag): string =>
  text.slice(start + kind.opens.length, end - 1);

/** The index after the closing tags, stray brackets and end tokens that follow a call. */
export function skipClosers(text: string, at: number): number {
  afterCall.lastIndex = at;
  afterCall.test(text);
  return afterCall.lastIndex;
}

/** A text without the end tokens and the white space that it ends in. */
export function withoutEndTokens(text: string): string {
  let rest = text.trimEnd();
  for (let token = endTokenOf(rest); token !== undefined; token = endTokenOf(rest)) {
    rest = rest.slice(0, -token.length).trimEnd();
  }
  return rest;
}

const endTokenOf = (text: string): string | undefined => endTokens.find((token) => text.endsWith(token));

function tagOf(text: string, start: number, end: number): Tag | undefined {
  const kind = tagKinds.find(({ opens }) => text.startsWith(opens, start));
  return kind && { kind, start, end };
}
