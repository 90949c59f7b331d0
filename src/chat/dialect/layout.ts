import type { CallKeys } from '../reply/detect/callShape.ts';
import type { MarkPair } from '../replyMarks.ts';
import { all, tag, text, type CallGrammar, type Rule } from '../grammar/rule.ts';

/** What vocabularies name control tokens: `<...>` without white space, `[UPPER_CASE]`. */
const markPattern = /<[^<>\s]+>|\[\/?[A-Z][A-Z0-9_]*\]/;
const lexemePattern = new RegExp(`${markPattern.source}|[\\p{L}\\p{M}\\p{N}_]+|[^]`, 'gu');

/** Marks, words and single other characters; joined they are the text. An unclosed mark is none: `<`, `key`, `=`. */
export const lexemes = (content: string): string[] => content.match(lexemePattern) ?? [];

/** Whether a lexeme is a mark: a name as control tokens have it. */
export const isMark = (lexeme: string): boolean => lexeme.length > 1 && wholeMarkPattern.test(lexeme);

export const marksIn = (...parts: readonly LayoutPart[]): readonly string[] =>
  parts.flatMap((part) => (typeof part === 'string' ? lexemes(part).filter(isMark) : []));

const wholeMarkPattern = new RegExp(`^(?:${markPattern.source})$`, 'u');
const splittingMarkPattern = new RegExp(`(${markPattern.source})`, 'u');

/** The rule of a literal of a template: each mark is one control token where the vocabulary has it, else plain text. */
export function literalRule(literal: string): Rule {
  const parts = literal.split(splittingMarkPattern).filter((part) => part !== '');
  const rules = parts.map((part) => (isMark(part) ? tag(part) : text(part)));
  const [first = text(''), ...others] = rules;
  return others.length === 0 ? first : all(...rules);
}

/** The grammar of an answer with the mark before it that opens answers; any other grammar as it is. */
export const withAnswerMark = (grammar: CallGrammar, mark: string): CallGrammar =>
  grammar.kind === 'full' && grammar.answer && mark !== ''
    ? { ...grammar, rule: all(literalRule(mark), grammar.rule) }
    : grammar;

/**
 * What is read off a chat template about tool calls, as plain data: an engine process sends it to the server. Literals
 * are the template's own text; white space in them is what a grammar writes, and a reader takes any.
 */

/** A part of the text around a call: a literal, the id of the call, or the call's number in the message, from 0. */
export type LayoutPart = string | { readonly slot: 'id' | 'index' };

/** How the calls of one message are written: `header`, `open`, calls with `separator` between them, `close`. */
export interface CallLayout {
  /** What a message that starts with a call has before `open`, and other messages may have too; "" = nothing. */
  readonly header: string;
  /** Before the first call; "" = none. */
  readonly open: string;
  /** After the last call; "" = none. */
  readonly close: string;
  /** Between two calls; undefined: the template writes only one call in a message. */
  readonly separator: string | undefined;
  /** What ends every message; "" = nothing that is known. */
  readonly end: string;
  /** From the start of a call to its name. */
  readonly before: readonly LayoutPart[];
  /** From the name to the arguments. */
  readonly between: readonly LayoutPart[];
  /** From the arguments to the end of the call. */
  readonly after: readonly LayoutPart[];
  readonly arguments: ArgumentLayout;
}

export type ArgumentLayout =
  /** One JSON object. `keys`: the call itself is a JSON object too, with its name and arguments under these keys. */
  | { readonly kind: 'json'; readonly keys: CallKeys | undefined }
  /** One parameter after the other. */
  | ParameterLayout;

/** How parameters are written: `open`, parameters with `separator` between them; without any, `empty`. */
export interface ParameterLayout {
  readonly kind: 'parameters';
  /** Notation of the values: a name of `valueNotations`. */
  readonly values: string;
  readonly open: string;
  readonly separator: string;
  /** The whole text of the arguments of a call that has none. */
  readonly empty: string;
  /** Before the key of each parameter. */
  readonly key: string;
  /** From the key to a value that is a string, and after that value. Where all strings are quoted, without the quotes. */
  readonly string: MarkPair;
  /** The same for all other values. */
  readonly other: MarkPair;
  readonly style: ValueStyle;
}

/** How parameters are written, whatever the notation of their values. */
export type ParameterMarks = Omit<ParameterLayout, 'values'>;

/** How a value notation writes single values. */
export interface ValueStyle {
  /** The text before and after a string; "" where a string is written raw, between the marks of its parameter. */
  readonly quote: string;
  readonly true: string;
  readonly false: string;
  readonly null: string;
  /** How `tagged` and `python` write lists and objects: as Python's `repr`; absent: as JSON. */
  readonly nested?: 'python';
}

/** The marks that a layout writes around calls and values, each once. */
export function callMarks(layout: CallLayout): readonly string[] {
  const { header, open, close, separator = '', before, between, after, arguments: notation } = layout;
  const parts = [header, open, ...before, ...between, ...after, separator, close];
  if (notation.kind === 'parameters') {
    const { key, string, other, style } = notation;
    parts.push(notation.open, key, string.open, string.close, other.open, other.close, notation.separator, style.quote);
  }
  return [...new Set(marksIn(...parts))];
}

/** The notation of calls: `json` (an object), `named json` (a name in marks), `tagged`, `keyValue` or `python`. */
export function notationName({ arguments: notation }: CallLayout): string {
  if (notation.kind === 'parameters') return notation.values;
  return notation.keys ? 'json' : 'named json';
}

/** The form in which calls are given to a chat template, so that it writes them. */
export interface CallMessageForm {
  /** As an object, or as JSON text (OpenAI's form). */
  readonly arguments: 'object' | 'string';
  /** Content of a message that has only calls. */
  readonly content: '' | null;
  /** `functions`: the template writes the id in place of the name, which must be `functions.NAME:INDEX`. */
  readonly ids: 'any' | 'functions';
}

export interface CallConvention extends CallMessageForm {
  readonly severalCalls: boolean;
  /** Whether a message may have both text and calls; a template that takes only one of them may leave the calls out. */
  readonly textWithCalls: boolean;
}

export interface ProbeVerdict {
  readonly name: string;
  readonly required: boolean;
  readonly ok: boolean;
  /** Why not; "" where it is ok. */
  readonly why: string;
}

/** The tool-call dialect of a model, read off its chat template; plain data. */
export interface ToolDialect {
  /** The format that the template proves: one of the four, or `native`; undefined: none. */
  readonly format: string | undefined;
  /** Why it is that format, or why none: a sentence without a full stop. */
  readonly because: string;
  /** Whether the template writes the declarations of tools. */
  readonly knowsTools: boolean;
  /** What the template leaves out of these declarations; absent: nothing that is known. */
  readonly omits?: readonly string[];
  /** The layout of the calls where it could be read off and proved itself, whichever `format` is. */
  readonly layout: CallLayout | undefined;
  /** How the template takes the calls of the history; undefined: it leaves them out. */
  readonly convention: CallConvention | undefined;
  /** Whether the template writes results: messages of role `tool`. */
  readonly writesResults: boolean;
  /** The probes of the format, or of the native layout that failed. */
  readonly probes: readonly ProbeVerdict[];
}

/** The dialect of a model that has no chat template. */
export const noDialect = (because: string): ToolDialect => ({
  format: undefined,
  because,
  knowsTools: false,
  layout: undefined,
  convention: undefined,
  writesResults: false,
  probes: [],
});
