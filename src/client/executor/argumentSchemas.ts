import { format, type OutputUnit, type Schema, type SchemaDraft, Validator } from '@cfworker/json-schema';
import { RE2JS } from 're2js';
import { andThen, type Awaitable } from './toolOutcome.ts';
import { malformed } from '../../protocol/fault.ts';
import { isObject } from '../../base/jsonTypes.ts';
import { anyOfTexts, estimatePatternSize } from '../../base/patterns.ts';
import { describePointer } from '../../base/jsonPointer.ts';
import { mapSchemas } from '../../base/schemaKeywords.ts';
import { documentText } from '../../protocol/codec/json.ts';

/** A JSON Schema of a tool's arguments: an object, as arguments have names. */
export interface ParametersSchema {
  readonly type?: 'object';
  readonly properties?: { readonly [name: string]: object | boolean };
  readonly required?: readonly string[];
  /** A list is none. Other keywords have no type: an interface, as TypeBox has it, fits no index signature. */
  readonly [Symbol.iterator]?: never;
}

/**
 * The part of the interface Standard Schema (https://standardschema.dev) that the client uses. Zod, Valibot, ArkType and
 * others have it.
 */
export interface StandardSchema {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Awaitable<StandardSchemaResult>;
    readonly types?: { readonly input: unknown; readonly output: unknown } | undefined;
    /** What makes a JSON Schema of it, where the library has that (Standard JSON Schema): Zod from 4.2 on, ArkType. */
    readonly jsonSchema?: { readonly input: (options: { readonly target: string }) => object } | undefined;
  };
}

type StandardSchemaResult =
  { readonly value: unknown; readonly issues?: undefined } | { readonly issues: readonly StandardSchemaIssue[] };

interface StandardSchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Valid arguments, transformed by their schema, or a sentence for the model about what is wrong. */
export type CheckedArguments =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly message: string };

/** Whether a value is a Standard Schema; some of them are functions. */
export const isStandardSchema = (value: unknown): value is StandardSchema =>
  typeof (value as Partial<StandardSchema> | null | undefined)?.['~standard']?.validate === 'function';

/** Checks arguments with a Standard Schema. */
export const checkByStandardSchema = (schema: StandardSchema, args: unknown): Awaitable<CheckedArguments> =>
  andThen(schema['~standard'].validate(args), (result): CheckedArguments => {
    if (result.issues) return { ok: false, message: result.issues.map(describeIssue).join('; ') };
    return { ok: true, value: result.value };
  });

function describeIssue({ path = [], message }: StandardSchemaIssue): string {
  const keys = path.map((part) => (typeof part === 'object' ? part.key : part));
  const place = keys.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('');
  return place === '' ? message : `${place.replace(/^\./, '')}: ${message}`;
}

// Keywords whose errors only say that there are errors further inside.
const containers: ReadonlySet<string> = new Set([
  'properties',
  'items',
  'prefixItems',
  '$ref',
  'allOf',
  'dependentSchemas',
  'patternProperties',
  'additionalProperties',
  'unevaluatedProperties',
]);

const types = ['string', 'number', 'integer', 'boolean', 'array', 'object', 'null'];

// More than these help no model, and a schema with many parameters can have many.
const maxErrors = 8;

/**
 * Compiles a JSON Schema of arguments into a check. The schema is interpreted: no code is made of strings, which pages can
 * forbid.
 * @param path names the schema in errors.
 * @throws Fault MALFORMED_MESSAGE for a schema that is none of an object, or names an unknown type.
 */
export function compileJsonSchema(given: ParametersSchema, path: string): (args: unknown) => CheckedArguments {
  // A copy: the validator adds properties to its schema, which may be frozen, and a later change would not count.
  const schema = JSON.parse(documentText(given, path)) as Schema & ParametersSchema;
  if (schema.type !== undefined && schema.type !== 'object')
    throw malformed(`${path}.type must be "object": arguments have names`);
  const patterns: Patterns = { formats: {}, useNames: [] };
  prepare(schema, path, patterns);
  const validator = new Validator(schema, draftOf(schema), false);
  return (args) => {
    const names = patterns.useNames.length === 0 ? [] : [...new Set(namesIn(args))];
    if (names.length > maxNames) return { ok: false, message: `There are more than ${maxNames} names in it.` };
    for (const use of patterns.useNames) use(names);
    Object.assign(format, patterns.formats);
    const { valid, errors } = validator.validate(args);
    for (const key of Object.keys(patterns.formats)) delete format[key];
    return valid ? { ok: true, value: args } : { ok: false, message: describeErrors(errors) };
  };
}

/**
 * The patterns of a schema, which may come from a stranger's server. RE2 matches them in linear time, where V8, which the
 * validator uses, can take exponential time. A pattern that RE2 does not know, such as a lookahead, or that is too large, is
 * not checked.
 */
interface Patterns {
  /** What checks a text in place of its `pattern` and its `format`, by the format that the schema has instead. */
  readonly formats: Record<string, (text: string) => boolean>;
  /** Each replaces the keys of one `patternProperties` by those of the names in some arguments that match. */
  readonly useNames: ((names: readonly string[]) => void)[];
}

// Of the validator's own formats, these take exponential time.
const slowFormats = ['url', 'uri-reference'];
const maxNames = 1000;
const maxPatternSize = 2000;

function usePatterns(schema: Record<string, unknown>, { formats, useNames }: Patterns): void {
  const { pattern, format: given, patternProperties: members } = schema;
  if (slowFormats.includes(String(given))) delete schema['format'];
  if (typeof pattern === 'string') {
    const [matches, other] = [compilePattern(pattern), format[String(schema['format'])]];
    schema['format'] = `pattern ${pattern} ${String(given)}`;
    formats[String(schema['format'])] = (text) => matches?.(text) !== false && other?.(text) !== false;
    delete schema['pattern'];
  }
  if (!isObject(members)) return;
  const keyed = Object.entries(members).map(([key, member]) => ({ matches: compilePattern(key), member }));
  useNames.push((names) => {
    const entries = keyed.flatMap(({ matches, member }, index) => {
      const matched = matches ? names.filter(matches) : names;
      return matched.length === 0 ? [] : [[`^(?:${anyOfTexts(matched)})$(?:){${index}}`, matches ? member : true]];
    });
    schema['patternProperties'] = Object.fromEntries(entries) as unknown;
  });
}

/** What matches a pattern in a text; undefined: RE2 does not know it, or it is too large. */
function compilePattern(pattern: string): ((text: string) => boolean) | undefined {
  if (estimatePatternSize(pattern) > maxPatternSize) return undefined;
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
    return (text) => compiled.test(text);
  } catch {
    return undefined;
  }
}

const namesIn = (value: unknown): readonly string[] => {
  if (Array.isArray(value)) return value.flatMap(namesIn);
  return isObject(value) ? Object.entries(value).flatMap(([name, member]) => [name, ...namesIn(member)]) : [];
};

// Schemas without a type of their own, such as enums, are left to the validator.
function prepare(schema: unknown, path: string, patterns: Patterns): void {
  if (!isObject(schema)) return;
  const unknown = [schema['type'] ?? []].flat().find((type) => !types.includes(type as string));
  if (unknown !== undefined) {
    throw malformed(`${path}.type must be of ${types.join(', ')}, not ${JSON.stringify(unknown)}`);
  }
  for (const [keyword, value] of Object.entries(schema))
    mapSchemas(keyword, value, (inner, below) => prepare(inner, path + describePointer(below), patterns));
  usePatterns(schema as Record<string, unknown>, patterns);
}

function draftOf({ $schema = '' }: Schema): SchemaDraft {
  const [, draft] = /draft-0?([47])\b|(?:2019-09|2020-12)/.exec($schema) ?? [];
  if (draft === '4' || draft === '7') return draft;
  return $schema.includes('2019-09') ? '2019-09' : '2020-12';
}

function describeErrors(errors: readonly OutputUnit[]): string {
  const innermost = errors.filter(({ keyword }) => !containers.has(keyword));
  const sentences = innermost.slice(0, maxErrors).map(({ instanceLocation, keyword, error }) => {
    const place = describePointer(decodeURIComponent(instanceLocation).replace(/^#/, '')).replace(/^\./, '');
    const sentence = keyword === 'false' ? 'is not allowed' : error.replace(/format "pattern [^]*/, 'pattern.');
    return place === '' ? sentence : `${place}: ${sentence}`;
  });
  return [...new Set(sentences)].join(' ');
}
