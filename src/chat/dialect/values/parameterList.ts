import { memoized } from '../../../base/memoized.ts';
import { skipWhiteSpace } from '../../json/lenientParser.ts';
import type { JsonObject, JsonValue } from '../../json/value.ts';
import type { ArgumentsSchema } from '../../tool.ts';
import { propertiesOf, type ResolvedSchema } from '../../tools/resolvedSchema.ts';
import { literalRule, type ParameterLayout } from '../layout.ts';
import type { SearchedText } from '../../markSearch.ts';
import { endsWithinMark, matchMark, matchMarkAfterSpace } from '../looseMark.ts';
import {
  markedStyle,
  type MalformedValue,
  type ValueNotation,
  type ValuePosition,
  type ValueRead,
} from './valueNotation.ts';
import { keyProblem, maxKeyLength, readKey } from './parameterKey.ts';
import { invalid, type ReadResult } from '../../../protocol/schema.ts';
import { ruleFromSchema } from '../../grammar/jsonSchema/fromSchema.ts';
import type { RuleStyle } from '../../grammar/jsonRules.ts';
import { all, any, type Member, type Rule, withKeys } from '../../grammar/rule.ts';
import { valueNotations } from './index.ts';

/** The notation of the values of a layout. @throws Error for a name that no notation has. */
function notationOf({ values }: ParameterLayout): ValueNotation {
  const notation = valueNotations.get(values);
  if (!notation) throw new Error(`No value notation is named "${values}".`);
  return notation;
}

/** The arguments of a call as a layout writes them. */
export function writeParameters(args: JsonObject, layout: ParameterLayout): string {
  if (args.size === 0) return layout.empty;
  const notation = notationOf(layout);
  const parameters = [...args].map(([key, value]) => {
    const { open, close } = typeof value === 'string' ? layout.string : layout.other;
    return `${layout.key}${key}${open}${notation.spell(value, layout.style)}${close}`;
  });
  return layout.open + parameters.join(layout.separator);
}

/** The rule of the declared parameters in their order. `errors` have what no grammar can express, with pointers. */
export function parametersRule(schema: ArgumentsSchema, layout: ParameterLayout): ReadResult<Rule> {
  const fixed = ['enum', 'const'].find((keyword) => keyword in schema);
  if (fixed !== undefined)
    return invalid(`/${fixed}`, `is "${fixed}", which lists whole calls: a grammar cannot express it`);
  // An object of any members is the default of JSON Schema; a tool that declares no parameters takes none.
  return ruleFromSchema({ properties: {}, ...schema }, listStyle(layout));
}

/** The style of the whole list: an object whose members are parameters. Schemas of arguments have no other type. */
const listStyle = memoized((layout: ParameterLayout): RuleStyle => {
  const values = markedStyle(layout, notationOf(layout).rules(layout));
  return {
    ...values,
    nested: values,
    object: (members) => listRule(members, layout),
    anyObject: () => literalRule(layout.empty),
    problemOf: (content) => keyProblem(content, layout),
  };
});

function listRule(members: readonly Member[], layout: ParameterLayout): Rule {
  const { open, separator, empty, key: keyMark } = layout;
  if (members.length === 0) return literalRule(empty);
  const parameters: Rule = {
    kind: 'members',
    members: withKeys(members, (key) => literalRule(keyMark + key)),
    separator: literalRule(separator),
    nonEmpty: empty !== open,
  };
  const given = open === '' ? parameters : all(literalRule(open), parameters);
  return empty === open || members.some(({ required }) => required) ? given : any(given, literalRule(empty));
}

/** As of one value; `end` is that of the last parameter. A parameter that was written twice is repaired, too. */
type ParametersRead = Omit<ValueRead, 'value'> & { readonly arguments: JsonObject };

/** As for one value, but with the schema of all arguments; undefined: the tool is unknown. */
type ReadParametersOptions = Pick<ValuePosition, 'layout' | 'schema' | 'after'>;

/** Reads parameters in any order, with free white space; the last of a name counts. Never throws; takes linear time. */
export class ParameterReader {
  readonly #source: SearchedText;
  readonly #options: ReadParametersOptions;
  readonly #properties: NonNullable<ResolvedSchema['properties']>;
  readonly #nextKeys: Set<string>;
  readonly #arguments = new Map<string, JsonValue>();
  #repaired = false;

  constructor(source: SearchedText, options: ReadParametersOptions) {
    this.#source = source;
    this.#options = options;
    this.#properties = propertiesOf(options.schema);
    this.#nextKeys = new Set(this.#properties.keys());
  }

  /** @param start index after the tool's name. */
  read(start: number): ParametersRead | MalformedValue {
    const { layout } = this.#options;
    const { text } = this.#source;
    const open = matchMarkAfterSpace(layout.open, text, start);
    let end = open ?? matchMarkAfterSpace(layout.empty, text, start);
    if (end === undefined) return this.#malformed(start, layout.open);
    for (;;) {
      const keyStart = open === undefined ? undefined : this.#keyStart(end);
      if (keyStart === undefined && this.#isCutInKey(end)) return { ok: false, truncated: true };
      if (keyStart === undefined) break;
      const read = this.#readParameter(keyStart);
      if (typeof read !== 'number') return read;
      end = read;
    }
    if (this.#arguments.size === 0) end = Math.max(end, matchMarkAfterSpace(layout.empty, text, start) ?? end);
    return { ok: true, arguments: this.#arguments, end: this.#endAfterSeparator(end), repaired: this.#repaired };
  }

  /** Index of the key of the parameter that follows at an index; undefined: none follows. */
  #keyStart(index: number): number | undefined {
    const { layout, after } = this.#options;
    const { text } = this.#source;
    const start = skipWhiteSpace(text, index);
    const separated = matchMark(this.#arguments.size > 0 ? layout.separator : '', text, start);
    const keyMark = skipWhiteSpace(text, separated ?? start);
    const keyStart = matchMark(layout.key, text, keyMark);
    if (keyStart === undefined) return undefined;
    const isEnd = after.trim() !== '' && matchMark(after, text, keyMark) !== undefined;
    if (isEnd || (layout.key.trim() === '' && !readKey(text, keyStart, layout))) return undefined;
    if (separated === undefined) this.#repaired = true;
    return keyStart;
  }

  /** Whether the text ends in the mark before a key, or in a key that has no mark before it. */
  #isCutInKey(index: number): boolean {
    const { key } = this.#options.layout;
    const { text } = this.#source;
    const start = skipWhiteSpace(text, index);
    if (key.trim() !== '') return endsWithinMark(key, text, start);
    const rest = text.slice(start, start + maxKeyLength);
    return start + rest.length === text.length && startOfBareKey.test(rest);
  }

  /** Index after the parameter whose key begins at an index. */
  #readParameter(keyStart: number): number | MalformedValue {
    const { layout, after } = this.#options;
    const key = readKey(this.#source.text, keyStart, layout);
    if (!key) return this.#malformed(keyStart, undefined);
    const schema = this.#properties.get(key.name);
    const isRequired = this.#options.schema?.required?.has(key.name) === true;
    this.#nextKeys.delete(key.name);
    const read = notationOf(layout).read({
      source: this.#source,
      start: key.end,
      layout,
      schema,
      mayBeNull: schema !== undefined && (!isRequired || schema.defaults?.includes(null) === true),
      nextKeys: this.#nextKeys,
      after,
    });
    if (!read.ok) return read;
    if (read.repaired || this.#arguments.has(key.name)) this.#repaired = true;
    this.#arguments.set(key.name, read.value);
    return read.end;
  }

  /** A separator after the last parameter is one too many. */
  #endAfterSeparator(end: number): number {
    const { separator } = this.#options.layout;
    if (this.#arguments.size === 0 || separator.trim() === '') return end;
    const separated = matchMarkAfterSpace(separator, this.#source.text, end);
    if (separated !== undefined) this.#repaired = true;
    return separated ?? end;
  }

  /** What could not be read: the text ends in the mark or the key that begins at an index, or something else stands there. */
  #malformed(index: number, mark: string | undefined): MalformedValue {
    const { text } = this.#source;
    const start = skipWhiteSpace(text, index);
    const isCut = mark !== undefined ? endsWithinMark(mark, text, start) : text.length - start < maxKeyLength;
    return { ok: false, truncated: start === text.length || isCut };
  }
}

const startOfBareKey = /^,?\s*[\p{L}_$][\p{L}\p{M}\p{N}_.$ -]*$/u;
