import { parseJsonAt } from '../json/lenientParser.ts';
import type { Tool } from '../tool.ts';
import { expectedTypes, propertiesOf, resolvedParameters } from '../tools/resolvedSchema.ts';
import { parseArguments, type ParsedArguments } from '../reply/detect/callShape.ts';
import { skipClosingFence, skipOpeningFence } from '../markdownCode.ts';
import { parseObjectAt } from '../json/objectList.ts';
import { commonTags } from '../reply/detect/tags.ts';

/** Arguments that do not stand in a JSON object with the name of their call, and the index after them. */
export type OwnArguments = (ParsedArguments & { readonly end: number }) | MalformedArguments;

/** Why arguments cannot be read. */
export interface MalformedArguments {
  readonly reason: string;
  /** Whether nothing closes them: it may be the end of the text that cuts them off. */
  readonly isUnclosed?: boolean;
}

/** What is known of arguments before they are read. */
export interface OwnArgumentsOptions {
  /** The index at which something else begins; an object of JSON may have it in a string. */
  readonly limit: number;
  /** The tool of the call; undefined: it is not known. */
  readonly tool: Tool | undefined;
  /** Sticky pattern of what may follow an object whose closing brackets are lost. */
  readonly closing: RegExp;
  /** Whether the end of the text may cut off what nothing closes. */
  readonly isCutOff: boolean;
}

const none = /^\W*(?:(?:none|null|nil|n\/?a|no (?:arguments|input))\W*)?$/i;
const maxNone = 40;

/**
 * Reads the arguments that start at an index, after white space and perhaps in a code fence:
 *
 * | arguments                                    | result                                                           |
 * | -------------------------------------------- | ---------------------------------------------------------------- |
 * | a JSON object, or one in a string            | its members; repaired, where only the lenient parser can read it |
 * | a word such as `None`, or nothing            | none                                                             |
 * | one line of text, for a tool with one string | the value of that parameter, repaired                            |
 * | anything else                                | malformed                                                        |
 */
export function readOwnArguments(text: string, start: number, options: OwnArgumentsOptions): OwnArguments {
  const { limit, tool, closing, isCutOff } = options;
  const at = Math.min(limit, skipOpeningFence(text, start));
  if (text[at] === '{') return readObjectArguments(text, at, closing);
  const value = text.slice(at, limit).trim();
  const json = parseJsonAt(value, 0, { lenient: true });
  const parsed = json.ok ? parseArguments(json.value, true) : undefined;
  if (json.ok && parsed) return { ...parsed, end: afterValue(text, at + json.end) };
  const line = /^[^\n`]*/.exec(value)?.[0].trimEnd() ?? '';
  const end = afterValue(text, at + line.length);
  const isLast = text.slice(end).trim() === '';
  // A tool with parameters hardly ever gets nothing: the text may end before them.
  if (isLast && (isCutOff || (value === '' && hasParams(tool))))
    return { reason: 'its arguments are cut off', isUnclosed: true };
  if (line.length <= maxNone && none.test(line)) return { arguments: new Map(), repaired: false, end };
  const param = onlyStringParam(tool);
  const isLine = text.slice(Math.min(end, limit), limit).trim() === '';
  const given = json.ok && json.end === value.length && typeof json.value === 'string' ? json.value : line;
  if (param !== undefined && isLine && /^[^{["']/.test(given))
    return { arguments: new Map([[param, given]]), repaired: true, end };
  return { reason: 'its arguments are no JSON object', isUnclosed: /^["'[]/.test(value) && !json.ok && json.truncated };
}

/** Reads the arguments in the object that starts at an index. */
export function readObjectArguments(text: string, at: number, closing: RegExp): OwnArguments {
  const object = parseObjectAt(text, at, closing);
  if ('truncatedIn' in object) {
    const isUnclosed = object.truncatedIn !== undefined;
    return { reason: `the JSON of its arguments is ${isUnclosed ? 'not closed' : 'malformed'}`, isUnclosed };
  }
  const parsed = parseArguments(object.value, true);
  if (!parsed) return { reason: 'its arguments repeat the declaration of a tool' };
  return { ...parsed, repaired: object.repaired || parsed.repaired, end: afterValue(text, object.end) };
}

/** Index after the brackets and the code fence that follow a value. */
export function afterValue(text: string, end: number): number {
  const closed = commonTags.skipClosers(text, end);
  return skipClosingFence(text, closed) ?? closed;
}

const hasParams = (tool: Tool | undefined): boolean =>
  tool === undefined || propertiesOf(resolvedParameters(tool)).size > 0;

function onlyStringParam(tool: Tool | undefined): string | undefined {
  const [first, ...others] = tool ? propertiesOf(resolvedParameters(tool)) : [];
  return first && others.length === 0 && expectedTypes(first[1])?.has('string') ? first[0] : undefined;
}
