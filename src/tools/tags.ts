import { pastCode } from './backticks.ts';
import type { Past } from './reasoning.ts';

/** A tag that announces a call. */
export interface Tag {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** The name of the tool, where the tag itself says it. */
  readonly tool: string | undefined;
}

const closers: ReadonlyMap<string, string> = new Map([
  ['<tool_call>', '</tool_call>'],
  ['<|tool_call|>', '<|/tool_call|>'],
  ['<function_call>', '</function_call>'],
  ['[TOOL_CALLS]', '[/TOOL_CALLS]'],
]);
const functionCloser = '</function>';
const pythonTag = '<|python_tag|>';
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

const either = (texts: Iterable<string>): string => [...texts].map((text) => text.replace(/[[\]|]/g, '\\$&')).join('|');
const opening = `${either([...closers.keys(), pythonTag])}|<function=([^\\s<>]+)>`;
const closing = either([...closers.values(), functionCloser]);

const openingOrCode = new RegExp(`\`+|${opening}`, 'g');
const openingHere = new RegExp(opening, 'y');
const afterCall = new RegExp(`(?:\\s*(?:[\\]}]|${closing}|${either(endTokens)}))*`, 'y');

/** A closing tag, whichever it closes; sticky. */
export const closingTag = new RegExp(closing, 'y');

/** The tag that closes what a tag opens. */
export const closerOf = (tag: Tag): string | undefined =>
  tag.tool === undefined ? closers.get(tag.text) : functionCloser;

/** The first tag at or after an index that stands neither in reasoning nor in backticks. */
export function nextTag(text: string, at: number, past: Past): Tag | undefined {
  let from = at;
  for (;;) {
    openingOrCode.lastIndex = from;
    const found = openingOrCode.exec(text);
    if (found === null) return undefined;
    from = past(found.index);
    if (from > found.index) continue;
    if (!found[0].startsWith('`')) return tagOf(found);
    from = pastCode(text, found.index);
  }
}

/** The tag that starts exactly at an index. */
export function tagAt(text: string, at: number): Tag | undefined {
  openingHere.lastIndex = at;
  const found = openingHere.exec(text);
  return found === null ? undefined : tagOf(found);
}

/** The index after the closing tags, stray brackets and end tokens that follow a call. */
export function pastClosers(text: string, at: number): number {
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

const tagOf = ({ 0: text, 1: tool, index }: RegExpExecArray): Tag => ({
  start: index,
  end: index + text.length,
  text,
  tool,
});
