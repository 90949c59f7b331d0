import type { CallKeys } from '../reply/detect/callShape.ts';
import type { MarkPair } from '../replyMarks.ts';
import { marksIn } from './marks.ts';

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
  return [...new Set(parts.filter((part) => typeof part === 'string').flatMap(marksIn))];
}

/** The notation of calls: `json` (an object), `named json` (a name in marks), `tagged`, `keyValue` or `python`. */
export function notationName({ arguments: notation }: CallLayout): string {
  if (notation.kind === 'parameters') return notation.values;
  return notation.keys ? 'json' : 'named json';
}
