import { andThen, type Awaitable } from './awaitable.ts';

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
  };
}

/** A valid value, transformed by the schema, or what is wrong with it. */
export type StandardSchemaResult =
  { readonly value: unknown; readonly issues?: undefined } | { readonly issues: readonly StandardSchemaIssue[] };

/** One thing that is wrong with a value. */
export interface StandardSchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Valid arguments, transformed by their schema, or a sentence for the model about what is wrong. */
export type CheckedArguments =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly message: string };

/** Whether a value is a Standard Schema; some of them are functions. */
export const isStandardSchema = (value: unknown): value is StandardSchema =>
  ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
  typeof (value as Partial<StandardSchema>)['~standard']?.validate === 'function';

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
