import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { malformed } from './fault.ts';
import type { CodeName } from './frames.gen.ts';
import type { FromJsonSchema } from '../base/fromJsonSchema.ts';
import { describePointer, escapePointerToken } from '../base/jsonPointer.ts';
import { parseUniqueJson } from '../base/jsonLocations.ts';
import { isObject, jsonTypeOf, tryParseJson } from '../base/jsonTypes.ts';
import { didYouMean } from '../base/didYouMean.ts';

/** A JSON Schema (draft-07) as a value: the subset that parameters and options are declared in. */
export interface Schema {
  readonly type?: 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object';
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly (string | number | boolean)[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly properties?: { readonly [name: string]: Schema };
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly maxProperties?: number;
  readonly propertyNames?: { readonly minLength?: number; readonly maxLength?: number };
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  /** Whether clients can change this parameter of a node between turns (ChangeParamsRequest). */
  readonly live?: boolean;
  /** What a form edits a string with: several lines, or a list of the models. */
  readonly editor?: 'multiline' | 'model';
  /** What to do instead of an unknown member. */
  readonly $comment?: string;
}

export interface ObjectSchema extends Schema {
  readonly type: 'object';
  readonly properties: { readonly [name: string]: Schema };
}

/** The TypeScript type of the values that a schema accepts, after its defaults have been filled in. */
export type FromSchema<S extends Schema> = FromJsonSchema<S, true>;

/** One validation error: a JSON pointer, and a message without its subject (`must be a number, not "hot"`). */
export interface SchemaError {
  readonly pointer: string;
  readonly message: string;
  /** The error code, where it differs from the usual one of the caller. */
  readonly code?: CodeName;
}

/** A valid value with its defaults filled in, or all its validation errors. */
export type ReadResult<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly errors: readonly SchemaError[] };

/** A reading with one error. */
export const invalid = (pointer: string, message: string): ReadResult<never> => ({
  ok: false,
  errors: [{ pointer, message }],
});

/** The errors of a part, with pointers into the whole. @param pointer that of the part. */
export const errorsBelow = (pointer: string, errors: Iterable<SchemaError>): readonly SchemaError[] =>
  [...errors].map((error) => ({ ...error, pointer: pointer + error.pointer }));

// Schemas are not validated: the schema of schemas takes longer to compile than most of them. `assertSchema` does it.
const code = { optimize: false };
const options = { allErrors: true, useDefaults: true, verbose: true, strict: true, validateSchema: false, code };
const ajv = new Ajv({ ...options, keywords: ['live', 'editor'] });
const firstErrorAjv = new Ajv({ ...options, allErrors: false, useDefaults: false, keywords: ['live', 'editor'] });

// A hostile value can have thousands of errors, and formatting them takes time.
const maxErrors = 400;
// Of a value with more values only the first error is looked for: ajv makes one or more for each of them, and of a copy.
const maxValuesOfAllErrors = 10_000;

/**
 * Makes a validator of a schema, which is compiled (ajv) for the first value: most processes use few of the schemas. It fills
 * defaults into a copy of the value, or returns all errors.
 */
export function createReader<const S extends Schema>(schema: S): (value: unknown) => ReadResult<FromSchema<S>> {
  let validate: ValidateFunction<FromSchema<S>> | undefined;
  let findFirstError: ValidateFunction | undefined;
  return (value) => {
    try {
      if (countValues(value) > maxValuesOfAllErrors) {
        findFirstError ??= firstErrorAjv.compile(schema);
        if (!findFirstError(value)) return { ok: false, errors: errorMessages(findFirstError.errors ?? []) };
      }
      validate ??= ajv.compile<FromSchema<S>>(schema);
      const copy: unknown = structuredClone(value);
      if (validate(copy)) return { ok: true, value: copy };
      return { ok: false, errors: errorMessages(validate.errors ?? []) };
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return invalid('', 'is nested too deeply');
    }
  };
}

const maxReportedErrors = 3;

/**
 * Reads the JSON text of a field.
 * @param name what the text is called in errors.
 * @throws Fault MALFORMED_MESSAGE with the place of each error, three at most.
 */
export function readJsonField<T>(text: string, name: string, read: (value: unknown) => ReadResult<T>): T {
  const reading = read(parseUniqueJson(text, (problem, cause) => malformed(`${name} ${problem}`, cause)));
  if (reading.ok) return reading.value;
  const messages = reading.errors.map(({ pointer, message }) => `${name}${describePointer(pointer)} ${message}`);
  throw malformed(messages.slice(0, maxReportedErrors).join('; '));
}

/** The value of a JSON text that a reader accepts; undefined: it is no such text. */
export function readJsonText<T>(text: string, read: (value: unknown) => ReadResult<T>): T | undefined {
  const reading = read(tryParseJson(text));
  return reading.ok ? reading.value : undefined;
}

/** @throws Error when a schema is invalid. */
export const assertSchema = (schema: Schema): void => void (ajv.validateSchema(schema, true), ajv.compile(schema));

const countValues = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce((count: number, member) => count + countValues(member), 1)
    : 1;

// A failed anyOf reports each branch and itself. If one branch is meant, only the errors of that branch are kept; else
// only the error of the anyOf.
function errorMessages(allErrors: readonly ErrorObject[]): SchemaError[] {
  const unions = allErrors
    .filter((error) => error.keyword === 'anyOf')
    .map((error) => {
      const branches = error.schema as readonly Schema[];
      const branch = matchingBranch(branches, error.data);
      return { error, instancePath: `${error.instancePath}/`, index: branch ? branches.indexOf(branch) : -1 };
    });
  const isRelevant = (error: ErrorObject): boolean =>
    // Each error of a name is reported by itself, too.
    error.keyword !== 'propertyNames' &&
    unions.every(({ error: union, instancePath, index }) => {
      if (error === union) return index < 0;
      const isInUnion =
        error.schemaPath.startsWith(`${union.schemaPath}/`) && `${error.instancePath}/`.startsWith(instancePath);
      return !isInUnion || (index >= 0 && error.schemaPath.startsWith(`${union.schemaPath}/${index}/`));
    });
  const relevant = allErrors.slice(0, maxErrors).filter(isRelevant);
  return relevant.map((error) => {
    const { pointer, message } = errorMessage(error);
    // Of the name of a member, which the path of the value does not have.
    const name = error.propertyName === undefined ? '' : escapePointerToken(error.propertyName);
    return { pointer: error.instancePath + name + pointer, message };
  });
}

/**
 * The branch of a choice that a value is meant for, though it may not fit: one of its type; of several objects the one
 * of whose required members it has most, then the one that knows most of its members.
 */
function matchingBranch(branches: readonly Schema[], value: unknown): Schema | undefined {
  const type = jsonTypeOf(value);
  const candidates = branches.filter((branch) => branch.type === type);
  // The branch of a single value, as false or a number: its error would hide the other branches.
  if (branches.length > 1 && candidates.length === 1 && candidates[0]?.enum?.length === 1) return undefined;
  if (candidates.length < 2 || !isObject(value)) return candidates[0];
  const shareOfRequired = ({ required = [] }: Schema): number =>
    required.filter((name) => Object.hasOwn(value, name)).length / Math.max(required.length, 1);
  const knownMembers = ({ properties = {} }: Schema): number =>
    Object.keys(properties).filter((name) => Object.hasOwn(value, name)).length;
  return [...candidates].sort(
    (a, b) => shareOfRequired(b) - shareOfRequired(a) || knownMembers(b) - knownMembers(a),
  )[0];
}

function errorMessage(error: ErrorObject): SchemaError {
  const { missingProperty, additionalProperty } = error.params as Readonly<Record<string, unknown>>;
  if (error.keyword === 'required')
    return { pointer: escapePointerToken(String(missingProperty)), message: 'is missing' };
  // Its value is not formatted: an object with 95,000 unknown keys has an error for each, and takes 30 ms to format.
  if (error.keyword !== 'additionalProperties') return { pointer: '', message: describeWrong(error) };
  const name = String(additionalProperty);
  const { properties = {}, $comment: advice = '' } = error.parentSchema as Schema;
  const hint = didYouMean(name, Object.keys(properties)) || advice;
  return { pointer: escapePointerToken(name), message: `is not known here${hint}` };
}

function describeWrong({ keyword, schema, parentSchema, data, message }: ErrorObject): string {
  const actual = formatValue(data);
  const { description } = parentSchema as Schema;
  switch (keyword) {
    case 'enum': {
      const allowed = schema as readonly unknown[];
      const hint = typeof data === 'string' ? didYouMean(data, allowed.map(String)) : '';
      return `must be one of ${allowed.map(formatValue).join(', ')}, not ${actual}${hint}`;
    }
    case 'minItems':
    case 'minLength':
    case 'maxItems':
    case 'maxLength':
    case 'maxProperties':
      return describeSize(keyword, Number(schema), actual);
    case 'type': {
      const [meaning = ''] = description?.split(/;|\.$/, 1) ?? [];
      // With a unit: which one is meant, the description says.
      const unit = meaning && typeof data === 'string' && /^\s*[\d.]+\s*[a-z%]/i.test(data) ? ` (${meaning})` : '';
      return `must be ${article(String(schema))}${unit}, not ${actual}`;
    }
    case 'uniqueItems':
      return `must not have an item twice: ${actual}`;
    case 'pattern':
      return `must fit (${description ?? String(schema)}), not ${actual}`;
    case 'anyOf':
      return `must be ${(schema as Schema[]).map(describeBranch).join(' or ')}, not ${actual}`;
    default:
      return `${message ?? 'is not allowed'}, not ${actual}`;
  }
}

function describeSize(keyword: string, size: number, actual: string): string {
  if (keyword.startsWith('min') && size === 1) return 'must not be empty';
  const unit = keyword.endsWith('Items') ? 'item' : keyword.endsWith('Length') ? 'character' : 'member';
  const bound = keyword.startsWith('min') ? 'least' : 'most';
  return `must have at ${bound} ${size} ${unit}${size === 1 ? '' : 's'}, not ${actual}`;
}

const describeBranch = (schema: Schema): string =>
  schema.enum?.length === 1
    ? formatValue(schema.enum[0])
    : (schema.description ?? (schema.type ? article(schema.type) : 'something else'));
const article = (type: string): string => (/^[aeio]/.test(type) ? `an ${type}` : `a ${type}`);

function formatValue(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
