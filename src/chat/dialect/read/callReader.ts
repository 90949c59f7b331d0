import { endOfMatch, skipWhiteSpace } from '../../json/lenientParser.ts';
import { createCallSpan, type CallSpan, parseArguments } from '../../reply/detect/callShape.ts';
import { parseObjectAt } from '../../json/objectList.ts';
import type { BlockContext, Tag, TaggedBlock } from '../../reply/detect/tags.ts';
import type { JsonObject } from '../../json/value.ts';
import { propertiesOf, resolvedParameters, type ResolvedSchema } from '../../tools/resolvedSchema.ts';
import type { CallLayout, ParameterLayout } from '../layout.ts';
import { SearchedText } from '../looseMark.ts';
import { readParameters } from '../values/parameterList.ts';
import { TolerantPattern } from './pattern.ts';

/** Where the calls after a tag are read. */
export interface BlockPosition {
  /** The first of the tags before the calls. */
  readonly outer: Tag;
  /** What the layout has between the tag and the name. */
  readonly opening: TolerantPattern;
  /** Range of the last tag; `end` is exclusive. */
  readonly start: number;
  readonly end: number;
}

/** What stands at an index: a call, the beginning of one that the end of the text cuts off, or something else. */
type CallRead =
  | {
      readonly kind: 'call';
      readonly name: string;
      readonly arguments: JsonObject;
      readonly end: number;
      readonly repaired: boolean;
    }
  | { readonly kind: 'truncated' }
  | { readonly kind: 'other' };

type UnclosedCall = Omit<Extract<CallRead, { kind: 'call' }>, 'kind'>;

// Some models write it between calls, whatever separator they know.
const semicolon = /\s{0,40};/y;
const namePattern = /[^\s<>()[\]{}"'`=,:|]{1,128}/y;

/** Reads calls in a layout whose calls are no JSON objects. Never throws; takes time linear in the text that it reads. */
export class CallReader {
  readonly #layout: CallLayout;
  readonly #closing: RegExp;
  readonly #before: TolerantPattern;
  readonly #between: TolerantPattern;
  readonly #after: TolerantPattern;
  readonly #separator: TolerantPattern;
  /** The last mark of calls that are complete; "" = none. */
  readonly #lastMark: string;
  /** Whether each call starts with a mark, by which it is found. */
  readonly #isMarked: boolean;

  /** @param closing sticky pattern of the marks that may follow the arguments. */
  constructor(layout: CallLayout, closing: RegExp, isMarked: boolean) {
    this.#layout = layout;
    this.#closing = closing;
    this.#before = new TolerantPattern(layout.before);
    this.#between = new TolerantPattern(layout.between);
    this.#after = new TolerantPattern(layout.after);
    this.#separator = new TolerantPattern([layout.separator ?? '']);
    this.#lastMark = new TolerantPattern([layout.close]).lastMark || this.#after.lastMark;
    this.#isMarked = isMarked;
  }

  /** Reads the call after a tag, and those after it that start with no mark of their own. */
  readBlock(
    text: string,
    { outer, opening, start, end: tagEnd }: BlockPosition,
    context: BlockContext,
  ): TaggedBlock | undefined {
    if (opening.isCutOff(text, tagEnd)) return { spans: [], end: text.length, truncated: true };
    const spans: CallSpan[] = [];
    let rawStart = opening.skip(text, tagEnd);
    for (;;) {
      const read = this.#readCall(text, skipWhiteSpace(text, rawStart), context);
      if (read.kind === 'truncated') return { spans, end: text.length, truncated: true };
      if (read.kind === 'other') break;
      const { name, arguments: args, end, repaired } = read;
      const spanStart = spans.length === 0 ? start : skipWhiteSpace(text, rawStart);
      const span = createCallSpan(text, { start: spanStart, end, repaired }, [{ name, arguments: args, repaired }]);
      spans.push(spans.length === 0 ? { ...span, start: outer.start } : span);
      if (this.#isMarked) break;
      const next = Math.max(this.#separator.skip(text, end), endOfMatch(semicolon, text, end) ?? end);
      if (next === end) break;
      rawStart = this.#before.skip(text, next);
    }
    const last = spans.at(-1);
    return last && { spans, end: last.end, truncated: false };
  }

  #readCall(text: string, start: number, context: BlockContext): CallRead {
    if (start === text.length) return { kind: 'truncated' };
    const nameEnd = endOfMatch(namePattern, text, start);
    if (nameEnd === undefined) return { kind: 'other' };
    const name = text.slice(start, nameEnd);
    if (nameEnd === text.length) return { kind: 'truncated' };
    const { arguments: layout } = this.#layout;
    if (layout.kind === 'json') return this.#readJson(text, name, nameEnd);
    const argumentsStart = this.#between.skip(text, nameEnd);
    const source = sourceOf(text, context);
    const tool = context.tools.find((each) => each.name === name);
    const schema = tool && resolvedParameters(tool);
    const read = readParameters(source, argumentsStart, { layout, schema, after: this.#after.start });
    if (!read.ok) return { kind: read.truncated ? 'truncated' : 'other' };
    const end = this.#after.skip(text, read.end);
    // Where the closing quote is not sure, the end of the text may cut the string off.
    const isUnsure = read.repaired && layout.style.quote !== '' && this.#lastMark !== '';
    if (isUnsure && source.indexOf(this.#lastMark, read.end) === Infinity) return { kind: 'truncated' };
    if (end > read.end || this.#after.first === '')
      return { kind: 'call', name, arguments: read.arguments, end, repaired: read.repaired };
    return this.#readUnclosed(source, { name, ...read }, isComplete(read.arguments, schema, layout));
  }

  /**
   * A call that is not closed: the end of the text cuts it off, or the mark of something else follows.
   * @param isWhole whether it has all parameters that are declared.
   */
  #readUnclosed(source: SearchedText, call: UnclosedCall, isWhole: boolean): CallRead {
    const next = skipWhiteSpace(source.text, call.end);
    if (isWhole && next === source.text.length) return { ...call, kind: 'call', repaired: true };
    if (endOfMatch(this.#closing, source.text, next) !== undefined) return { ...call, kind: 'call', repaired: true };
    // What follows is neither a parameter nor a mark: the beginning of one.
    return { kind: source.indexOf(this.#after.first, next) === Infinity ? 'truncated' : 'other' };
  }

  #readJson(text: string, name: string, nameEnd: number): CallRead {
    const argumentsStart = skipWhiteSpace(text, this.#between.find(text, nameEnd) ?? nameEnd);
    if (argumentsStart === text.length) return { kind: 'truncated' };
    if (text[argumentsStart] !== '{') {
      // A call without arguments ends here: its closing mark follows.
      if (endOfMatch(this.#closing, text, argumentsStart) === undefined)
        return { kind: this.#between.isCutOff(text, nameEnd) ? 'truncated' : 'other' };
      const end = this.#after.skip(text, argumentsStart);
      return { kind: 'call', name, arguments: new Map(), end, repaired: true };
    }
    const object = parseObjectAt(text, argumentsStart, this.#closing);
    if ('truncatedIn' in object) return { kind: object.truncatedIn === undefined ? 'other' : 'truncated' };
    const parsed = parseArguments(object.value, true);
    if (!parsed) return { kind: 'other' };
    const end = this.#after.skip(text, object.end);
    return { kind: 'call', name, arguments: parsed.arguments, end, repaired: object.repaired };
  }
}

/** Whether arguments after which the text ends are complete: all that are declared are there, the last one closed. */
const isComplete = (args: JsonObject, schema: ResolvedSchema | undefined, { other }: ParameterLayout): boolean =>
  schema !== undefined &&
  (args.size === 0 || other.close !== '') &&
  Object.keys(propertiesOf(schema)).every((name) => args.has(name));

// One for each text, so that a mark that is nowhere is looked for once.
const sources = new WeakMap<BlockContext, SearchedText>();

function sourceOf(text: string, context: BlockContext): SearchedText {
  const known = sources.get(context);
  if (known?.text === text) return known;
  const source = new SearchedText(text);
  sources.set(context, source);
  return source;
}
