import type { JsonValue } from '../../json/value.ts';
import type { ParameterLayout, ParameterMarks, ValueStyle } from '../layout.ts';
import type { SearchedText } from '../looseMark.ts';
import type { ResolvedSchema } from '../../tools/resolvedSchema.ts';
import type { ValueRules } from './markedStyle.ts';

export interface ValuePosition {
  readonly source: SearchedText;
  /** Index of the first character after the parameter's key: the mark before the value comes first. */
  readonly start: number;
  readonly layout: ParameterLayout;
  /** Schema of the parameter; undefined: the tool or the parameter is unknown. */
  readonly schema: ResolvedSchema | undefined;
  /** Whether null, without quotes, is no text: the parameter is not required, or null by default. */
  readonly mayBeNull: boolean;
  /** Names of the parameters that may follow: declared, and not read yet. */
  readonly nextKeys: ReadonlySet<string>;
  /** The first mark after the last parameter, by which a reader knows where an unclosed value ends; "" = none. */
  readonly after: string;
}

export interface ValueRead {
  readonly ok: true;
  readonly value: JsonValue;
  /** Index after the mark that closes the value. */
  readonly end: number;
  /** Whether a mark was missing or the value was malformed but readable. */
  readonly repaired: boolean;
}

export interface MalformedValue {
  readonly ok: false;
  /** Whether the text ends inside the value. */
  readonly truncated: boolean;
}

/** Notation of the parameter values of a call: one file each. */
export interface ValueNotation {
  readonly name: string;
  /** Whether values between these marks can be in this notation. A template proves which of several it is. */
  explains(marks: ParameterMarks): boolean;
  /** Reads the value of a parameter with the marks around it. Never throws; takes linear time in the value's length. */
  read(position: ValuePosition): ValueRead | MalformedValue;
  /** A value without the marks around it, as the template writes it; takes plain data, too. */
  spell(value: unknown, style: ValueStyle): string;
  /** How a grammar writes values without the marks around them. */
  rules(layout: ParameterLayout): ValueRules;
}
