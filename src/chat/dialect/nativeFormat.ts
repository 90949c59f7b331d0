import { createArgumentRules, maxTokensPerCall } from '../formats/callGrammar.ts';
import { all, anyOf, char, many, text, type CallGrammar, type Rule, type ToolChoice } from '../grammar/rule.ts';
import { joinMarkup, type CallMarkup, type Tool, type ToolCallFormat, type WrittenCall } from '../tool.ts';
import type { CallLayout, LayoutPart, ToolDialect, ParameterLayout } from './layout.ts';
import { literalRule, callMarks, isMark, lexemes, marksIn } from './layout.ts';
import { parametersRule, writeParameters, ParameterReader } from './values/parameterList.ts';
import { stringifyJson, type JsonObject } from '../json/value.ts';
import type { DetectionContext, TagKind, Tag, TaggedBlock } from '../reply/detect/tags.ts';
import { commonMarkup, commonKind, type TagSet, tagSet } from '../reply/detect/tags.ts';
import type { Formats } from '../formats/index.ts';
import { detect } from '../reply/detect/detect.ts';
import {
  createCallSpan,
  parseArguments,
  type CallKeys,
  type CallSpan,
  type ParsedCall,
} from '../reply/detect/callShape.ts';
import { functionJson } from '../formats/toolText.ts';
import { memoized } from '../../base/memoized.ts';
import { TolerantPattern } from './pattern.ts';
import { endOfMatch, skipWhiteSpace } from '../json/lenientParser.ts';
import { parseObjectAt } from '../json/objectList.ts';
import { propertiesOf, resolvedParameters, type ResolvedSchema } from '../tools/resolvedSchema.ts';

/** Name of the format that is read off a model's chat template. */
export const nativeFormatName = 'native';

/** The format of a model's own layout of calls. */
export const nativeFormat = (layout: CallLayout): ToolCallFormat => ({
  name: nativeFormatName,
  place: 'system',
  markup: nativeMarkup(layout),
  render: (tools) => `# Tools

You can call these functions:
${tools.map(functionJson).join('\n')}

To call a function, write exactly this:
${exampleCall(layout)}`,
  renderCalls: (calls) => writeCalls(calls, layout),
  detect: (text, options) => detect(text, objectKeys(layout) ?? defaultKeys, options, nativeTags(layout)),
  grammar: (tools, choice) => nativeGrammar(tools, choice, layout),
});

export const exampleCall = (layout: CallLayout): string =>
  writeCalls(
    [{ id: 'a1b2c3d4e', name: '<function-name>', arguments: new Map([['<argument-name>', '<value>']]) }],
    layout,
  );

const defaultKeys: CallKeys = { name: 'name', arguments: 'arguments' };

/** The keys of a call that is a JSON object; undefined: it is none. */
const objectKeys = ({ arguments: notation }: CallLayout): CallKeys | undefined =>
  notation.kind === 'json' ? notation.keys : undefined;

/** The grammar of calls in a layout, as `callGrammar` makes it for the other formats. @throws UnsupportedToolSchema */
function nativeGrammar(tools: readonly Tool[], choice: ToolChoice, layout: CallLayout): CallGrammar {
  const call = callRule(tools, choice, layout);
  const opening = [layout.open, ...layout.before];
  const budget = maxTokensPerCall;
  if (choice.kind !== 'auto')
    return {
      kind: 'full',
      rule: all(...rulesOf([layout.header, ...opening]), call, literalRule(layout.close)),
      budget,
    };
  // The first text by which calls are found; without one they are bare JSON.
  const trigger = anchorsOf(layout)[0]?.text;
  const start = trigger ?? '{';
  const rule = all(...rulesOf(from(start, opening)), call, ...furtherCalls(call, layout), literalRule(layout.close));
  const where = trigger === undefined ? 'first' : 'anywhere';
  return { kind: 'lazy', triggers: [{ text: start, where, rule }], budget };
}

function callRule(tools: readonly Tool[], choice: ToolChoice, { between, after, arguments: layout }: CallLayout): Rule {
  const compile = layout.kind === 'json' ? undefined : ({ parameters }: Tool) => parametersRule(parameters, layout);
  const rules = createArgumentRules(tools, choice, compile);
  return all(anyOf([...rules].map(([name, args]) => all(text(name), ...rulesOf(between), args))), ...rulesOf(after));
}

// Outside of a section a further call starts with its own trigger.
function furtherCalls(call: Rule, { open, separator, before }: CallLayout): readonly Rule[] {
  if (open === '' || separator === undefined) return [];
  return [many(all(literalRule(separator), ...rulesOf(before), call), { min: 0 })];
}

function from(start: string, parts: readonly LayoutPart[]): readonly LayoutPart[] {
  const index = parts.findIndex((part) => typeof part === 'string' && part.includes(start));
  const part = parts[index];
  return typeof part === 'string' ? [part.slice(part.indexOf(start)), ...parts.slice(index + 1)] : parts;
}

const slotRules = {
  id: many(char('A-Z', 'a-z', '0-9'), { min: 9, max: 9 }),
  index: many(char('0-9'), { min: 1, max: 2 }),
} as const;

const rulesOf = (parts: readonly LayoutPart[]): readonly Rule[] =>
  parts
    .filter((part) => part !== '')
    .map((part) => (typeof part === 'string' ? literalRule(part) : slotRules[part.slot]));

/** The text of calls in a layout, as the model's chat template writes them. */
export function writeCalls(calls: readonly WrittenCall[], layout: CallLayout): string {
  const written = calls.map((call, index) => writeCall(call, index, layout));
  return `${layout.header}${layout.open}${written.join(layout.separator ?? '\n')}${layout.close}`;
}

function writeCall({ id, name, arguments: args }: WrittenCall, index: number, layout: CallLayout): string {
  const write = (parts: readonly LayoutPart[]): string =>
    parts.map((part) => (typeof part === 'string' ? part : part.slot === 'id' ? id : String(index))).join('');
  const { before, between, after, arguments: notation } = layout;
  const writtenArguments = notation.kind === 'json' ? stringifyJson(args) : writeParameters(args, notation);
  return `${write(before)}${name}${write(between)}${writtenArguments}${write(after)}`;
}

/** The formats that a model can be used with: all, and `native` where its chat template proves a layout of its own. */
export function formatsOf({ layout }: ToolDialect, formats: Formats): Formats {
  return layout ? new Map<string, ToolCallFormat>([...formats, [nativeFormatName, nativeFormat(layout)]]) : formats;
}

/** The marks around the calls of a model, whatever format it is used with. */
export const markupOf = ({ layout }: ToolDialect): CallMarkup => (layout ? nativeMarkup(layout) : commonMarkup);

/** Why the chat template of a model that knows tools gives no format: a warning; "" = it gives one, or knows no tools. */
export function dialectWarning({ format, knowsTools, because }: ToolDialect): string {
  return format === undefined && knowsTools
    ? `the model's tool calls may not be read, for ${because}; "turngraph tools formats" shows the probes; name a format, or set strict`
    : '';
}

interface Anchor {
  readonly text: string;
  /** What the layout has before it. */
  readonly leading: string;
  readonly rest: readonly LayoutPart[];
}

const nativeTags = memoized((layout: CallLayout): TagSet => {
  const anchors = anchorsOf(layout);
  const closers = closersOf(layout);
  const reader = new CallReader(layout);
  const kinds = anchors.map(({ text: opens, leading, rest }): TagKind => {
    const { closes, holds } = commonKind(opens) ?? { closes: closers[0], holds: 'calls' };
    const kind = { opens, leading, closes, holds } as const;
    if (objectKeys(layout)) return kind;
    const opening = new TolerantPattern(rest);
    return { ...kind, read: (tag, outer, context) => reader.readBlock(tag, outer, opening, context) };
  });
  return tagSet(kinds, closers);
});

/** The marks around calls: those of a layout and those of all formats. A mark that ends every message is none of them. */
function nativeMarkup(layout: CallLayout): CallMarkup {
  const isMarkup = (mark: string): boolean => !layout.end.includes(mark);
  const { arguments: notation } = layout;
  const keys = notation.kind === 'parameters' ? anchorsIn([notation.key]).map(({ text }) => text) : [];
  const closes = closersOf(layout).filter(isMarkup);
  const inner = [...keys, ...callMarks(layout)].filter(isMarkup);
  return joinMarkup([commonMarkup, { opens: anchorsOf(layout).map(({ text }) => text), closes, inner }]);
}

/** The marks up to the name, in their order; without any, the whole text up to the name unless the calls are JSON. */
function anchorsOf(layout: CallLayout): readonly Anchor[] {
  const parts = [layout.open, ...layout.before];
  // A mark that ends every message starts no call.
  const anchors = anchorsIn(parts)
    .map((anchor) => ({ ...anchor, leading: `${layout.header}${anchor.leading}`.trim() }))
    .filter(({ text }) => !layout.end.includes(text));
  if (anchors.length > 0) return anchors;
  const text = parts.find((part) => typeof part === 'string' && part.trim() !== '');
  if (typeof text !== 'string' || objectKeys(layout)) return [];
  return [{ text: text.trim(), leading: layout.header.trim(), rest: [] }];
}

const unclosedMark = /^<[^\s<>]+$/;

function anchorsIn(parts: readonly LayoutPart[]): readonly Anchor[] {
  const anchors: Anchor[] = [];
  parts.forEach((part, index) => {
    if (typeof part !== 'string') return;
    let end = 0;
    let unclosed = '';
    for (const lexeme of lexemes(part)) {
      end += lexeme.length;
      unclosed = lexeme === '<' || (unclosed !== '' && lexeme.trim() !== '') ? unclosed + lexeme : '';
      const isLast = end === part.length || /^\s/.test(part.slice(end));
      const text = isMark(lexeme) ? lexeme : isLast && unclosedMark.test(unclosed) ? unclosed : undefined;
      if (text === undefined) continue;
      const leading = [...parts.slice(0, index), part.slice(0, end - text.length)];
      anchors.push({ text, leading: literalOf(leading), rest: [part.slice(end), ...parts.slice(index + 1)] });
    }
  });
  return anchors;
}

/** The text of parts without white space at its ends; "" where a slot is among them. */
const literalOf = (parts: readonly LayoutPart[]): string =>
  parts.some((part) => typeof part !== 'string') ? '' : parts.join('').trim();

/** The marks that stand after the name of a call, and those that close what stands before it, also where the template leaves them out. */
function closersOf({ open, close, separator = '', before, after, end }: CallLayout): readonly string[] {
  const counterparts = marksIn(open, ...before).map(counterpartOf);
  return [...new Set([...marksIn(...after, close, separator, end), ...counterparts.filter((mark) => mark !== '')])];
}

/** The mark that closes what a mark with a word for the beginning opens: `<｜calls▁end｜>`; "" = it has no such word. */
const counterpartOf = (mark: string): string => {
  const closing = mark.replace(/(?<![a-z])(?:begin|start)(?![a-z])/i, 'end');
  return closing === mark ? '' : closing;
};

/** What stands at an index: a call, the beginning of one that the end of the text cuts off, or something else. */
type CallRead = ReadCall | 'truncated' | 'other';

type ReadCall = Omit<ParsedCall, 'thought'> & { readonly end: number };

// Some models write it between calls, whatever separator they know.
const semicolon = /\s{0,40};/y;
const namePattern = /[^\s<>()[\]{}"'`=,:|]{1,128}/y;

/** Reads calls in a layout whose calls are no JSON objects. Never throws; takes time linear in the text that it reads. */
class CallReader {
  readonly #layout: CallLayout;
  readonly #before: TolerantPattern;
  readonly #between: TolerantPattern;
  readonly #after: TolerantPattern;
  readonly #separator: TolerantPattern;
  /** The last mark of calls that are complete; "" = none. */
  readonly #lastMark: string;
  /** Whether each call starts with a mark, by which it is found. */
  readonly #isMarked: boolean;

  constructor(layout: CallLayout) {
    this.#layout = layout;
    this.#before = new TolerantPattern(layout.before);
    this.#between = new TolerantPattern(layout.between);
    this.#after = new TolerantPattern(layout.after);
    this.#separator = new TolerantPattern([layout.separator ?? '']);
    this.#lastMark = new TolerantPattern([layout.close]).lastMark || this.#after.lastMark;
    this.#isMarked = anchorsIn(layout.before).length > 0;
  }

  /** Reads a call after a tag, and those after it without a tag. @param opening what comes before the name. */
  readBlock(tag: Tag, outer: Tag, opening: TolerantPattern, context: DetectionContext): TaggedBlock | undefined {
    const { text } = context.source;
    // The tag may have the name, too.
    const tagEnd = tag.start + tag.kind.opens.length;
    if (opening.isCutOff(text, tagEnd)) return { spans: [], end: text.length, truncated: true };
    const spans: CallSpan[] = [];
    let rawStart = opening.skip(text, tagEnd);
    for (;;) {
      const nameStart = skipWhiteSpace(text, rawStart);
      const read = this.#readCall(nameStart, context);
      if (read === 'truncated') return { spans, end: text.length, truncated: true };
      if (read === 'other') break;
      const { end, ...call } = read;
      const spanStart = spans.length === 0 ? tag.start : nameStart;
      const span = createCallSpan(text, { start: spanStart, end, repaired: call.repaired }, [call]);
      spans.push(spans.length === 0 ? { ...span, start: outer.start } : span);
      if (this.#isMarked) break;
      const next = Math.max(this.#separator.skip(text, end), endOfMatch(semicolon, text, end) ?? end);
      if (next === end) break;
      rawStart = this.#before.skip(text, next);
    }
    const last = spans.at(-1);
    return last && { spans, end: last.end, truncated: false };
  }

  #readCall(start: number, { source, tools, tags: { closingTag } }: DetectionContext): CallRead {
    const { text } = source;
    const nameEnd = endOfMatch(namePattern, text, start);
    if (start === text.length || nameEnd === text.length) return 'truncated';
    if (nameEnd === undefined) return 'other';
    const name = text.slice(start, nameEnd);
    const { arguments: layout } = this.#layout;
    if (layout.kind === 'json') return this.#readJson(text, { name, end: nameEnd }, closingTag);
    const argumentsStart = this.#between.skip(text, nameEnd);
    const tool = tools.find((each) => each.name === name);
    const schema = tool && resolvedParameters(tool);
    const read = new ParameterReader(source, { layout, schema, after: this.#after.start }).read(argumentsStart);
    if (!read.ok) return read.truncated ? 'truncated' : 'other';
    const call = { name, arguments: read.arguments, end: read.end, repaired: read.repaired };
    const end = this.#after.skip(text, read.end);
    // Where the closing quote is not sure, the end of the text may cut the string off.
    const isUnsure = read.repaired && layout.style.quote !== '' && this.#lastMark !== '';
    if (isUnsure && source.indexOf(this.#lastMark, read.end) === Infinity) return 'truncated';
    if (end > read.end || this.#after.first === '') return { ...call, end };
    const next = skipWhiteSpace(text, read.end);
    const isCall = next === text.length && isComplete(read.arguments, schema, layout);
    if (isCall || endOfMatch(closingTag, text, next) !== undefined) return { ...call, repaired: true };
    // What follows is neither a parameter nor a mark: the beginning of one.
    return source.indexOf(this.#after.first, next) === Infinity ? 'truncated' : 'other';
  }

  #readJson(text: string, { name, end: nameEnd }: Pick<ReadCall, 'name' | 'end'>, closingTag: RegExp): CallRead {
    const argumentsStart = skipWhiteSpace(text, this.#between.find(text, nameEnd) ?? nameEnd);
    if (argumentsStart === text.length) return 'truncated';
    if (text[argumentsStart] !== '{') {
      // A call without arguments ends here: its closing mark follows.
      if (endOfMatch(closingTag, text, argumentsStart) === undefined)
        return this.#between.isCutOff(text, nameEnd) ? 'truncated' : 'other';
      return { name, arguments: new Map(), end: this.#after.skip(text, argumentsStart), repaired: true };
    }
    const object = parseObjectAt(text, argumentsStart, closingTag);
    if ('truncatedIn' in object) return object.truncatedIn === undefined ? 'other' : 'truncated';
    const parsed = parseArguments(object.value, true);
    if (!parsed) return 'other';
    const end = this.#after.skip(text, object.end);
    return { name, arguments: parsed.arguments, end, repaired: object.repaired };
  }
}

/** Whether arguments after which the text ends are complete: all that are declared are there, the last one closed. */
const isComplete = (args: JsonObject, schema: ResolvedSchema | undefined, { other }: ParameterLayout): boolean =>
  schema !== undefined &&
  (args.size === 0 || other.close !== '') &&
  [...propertiesOf(schema).keys()].every((name) => args.has(name));
