import type { FieldSchema } from '../document/graphTypes.ts';

/** What a value is edited with. */
export type FieldForm =
  | { readonly kind: 'text'; readonly editor: 'line' | 'multiline' | 'model' }
  | { readonly kind: 'number'; readonly schema: FieldSchema }
  | { readonly kind: 'choice'; readonly values: readonly unknown[] }
  | { readonly kind: 'list'; readonly items: FieldSchema; readonly max: number }
  | { readonly kind: 'object'; readonly schema: FieldSchema }
  /** Any value in one line: JSON, or a text without quotes. */
  | { readonly kind: 'any' }
  | { readonly kind: 'json' };

/** The form of a value that a schema describes; a value that the schema does not expect is edited as JSON, so that it is not lost. */
export function fieldForm(schema: FieldSchema, value: unknown): FieldForm {
  const branch = matchingBranch(schema, value);
  const form = branchForm(branch);
  return value === undefined || fits(form, value) ? form : { kind: 'json' };
}

/** The members of an object with known fields: those that it must have, then the others in the order of the schema. */
export function orderedMembers({
  properties = {},
  required = [],
}: FieldSchema): readonly (readonly [string, FieldSchema])[] {
  const members = Object.entries(properties);
  const isRequired = ([name]: readonly [string, FieldSchema]): boolean => required.includes(name);
  return [...members.filter(isRequired), ...members.filter((member) => !isRequired(member))];
}

/**
 * The default of a field as its placeholder; "" where it has none. In the branches of a choice the schema has it in the
 * description only.
 */
export function defaultText({ default: value, description = '' }: FieldSchema): string {
  if (value === undefined) return /; default: (true|false|none)\.$/.exec(description)?.[1] ?? '';
  if (value === '' || typeof value === 'object') return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The bounds of a number, such as `0 to 1`; "" where it has none. */
export function boundsText({ minimum, exclusiveMinimum, maximum }: FieldSchema): string {
  const from = minimum === undefined ? exclusiveMinimum !== undefined && `more than ${exclusiveMinimum}` : `${minimum}`;
  if (from !== false && maximum !== undefined) return `${from} to ${maximum}`;
  if (maximum !== undefined) return `at most ${maximum}`;
  if (from === false) return '';
  return minimum === undefined ? from : `at least ${from}`;
}

/** A value in one line: a text without quotes, unless it would be read as something else. */
export function formatAny(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value) ?? '';
  return parseAny(value) === value ? value : JSON.stringify(value);
}

/** Reads what `formatAny` wrote: JSON, else a text. */
export function parseAny(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A text read as JSON, or what is wrong with it. */
export function parseJson(text: string): { readonly value: unknown } | { readonly error: string } {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (thrown) {
    return { error: `This is no JSON: ${thrown instanceof Error ? thrown.message : String(thrown)}` };
  }
}

/** One line that says what an entry of a list is: its name, or the first text in it. */
export function entryTitle(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? '';
  const { name, function: openAi } = value as { readonly name?: unknown; readonly function?: unknown };
  if (typeof name === 'string') return name;
  return openAi === undefined ? '' : entryTitle(openAi);
}

/** The branch of `anyOf` that a value is meant for: one of its type; of several, the one of which it has the required members. */
export function matchingBranch(schema: FieldSchema, value: unknown): FieldSchema {
  const { anyOf: branches = [] } = schema;
  if (branches.length === 0) return schema;
  const ofType = branches.filter((branch) => value === undefined || hasType(branch, value));
  const members = typeof value === 'object' && value !== null ? Object.keys(value) : [];
  const complete = ofType.find(
    ({ required = [] }) => required.length > 0 && required.every((name) => members.includes(name)),
  );
  const known = ofType.find(({ properties = {} }) => members.some((name) => Object.hasOwn(properties, name)));
  const chosen = complete ?? known ?? ofType[0] ?? branches[0] ?? {};
  return { ...chosen, ...(schema.description && { description: schema.description }) };
}

function branchForm(schema: FieldSchema): FieldForm {
  const { type, enum: values, properties, items } = schema;
  if (values) return { kind: 'choice', values };
  const types = typeof type === 'string' ? [type] : (type ?? []).filter((one) => one !== 'null');
  switch (types.length === 1 ? types[0] : undefined) {
    case 'string':
      return { kind: 'text', editor: schema['x-editor'] ?? 'line' };
    case 'integer':
    case 'number':
      return { kind: 'number', schema };
    case 'boolean':
      return { kind: 'choice', values: [true, false] };
    case 'array':
      return { kind: 'list', items: items ?? {}, max: schema.maxItems ?? Number.POSITIVE_INFINITY };
    case 'object':
      return properties ? { kind: 'object', schema } : { kind: 'json' };
    default:
      return Object.keys(schema).some((key) => key !== 'description') ? { kind: 'json' } : { kind: 'any' };
  }
}

function fits(form: FieldForm, value: unknown): boolean {
  switch (form.kind) {
    case 'text':
      return typeof value === 'string';
    case 'number':
      return typeof value === 'number';
    case 'choice':
      return ['string', 'number', 'boolean'].includes(typeof value);
    case 'list':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    default:
      return true;
  }
}

function hasType({ type }: FieldSchema, value: unknown): boolean {
  const actual = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;
  const types = typeof type === 'string' ? [type] : (type ?? [actual]);
  return types.includes(actual) || (actual === 'number' && types.includes('integer'));
}
