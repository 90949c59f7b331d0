import type { GraphFile } from '../document/graphDocument.ts';
import type { FieldSchema, GraphTypes } from '../document/graphTypes.ts';
import type { ChangedParams } from './pageAgent.ts';

/** A live parameter of a node, or a member of one: of `sampling` each has a field. */
export interface LiveField {
  /** The parameter, and the member of it. */
  readonly path: readonly [string] | readonly [string, string];
  readonly schema: FieldSchema;
}

/** A node with live parameters. */
export interface LiveNode {
  readonly name: string;
  readonly type: string;
  readonly fields: readonly LiveField[];
}

/** The live parameters of all nodes of a graph, as the server's schema marks them (`x-live`). */
export const liveNodes = (graph: GraphFile, { types }: GraphTypes): readonly LiveNode[] =>
  Object.entries(graph.nodes).flatMap(([name, { type }]) => {
    const params = Object.entries(types.get(type)?.params.properties ?? {});
    const fields = params.flatMap(([param, field]) => (field['x-live'] ? fieldsOf(param, field) : []));
    return fields.length > 0 ? [{ name, type, fields }] : [];
  });

function fieldsOf(param: string, schema: FieldSchema): readonly LiveField[] {
  const members = Object.entries(schema.properties ?? {});
  if (members.length === 0) return [{ path: [param], schema }];
  return members.map(([member, memberSchema]) => ({ path: [param, member], schema: memberSchema }));
}

/** Fields in a row; `name` is the parameter that they are members of. */
export interface FieldGroup {
  readonly name: string | undefined;
  readonly fields: readonly LiveField[];
}

/** Puts the members of one parameter into a group, and the fields between into groups without a name. */
export function groupFields(fields: readonly LiveField[]): readonly FieldGroup[] {
  const groups: { readonly name: string | undefined; readonly fields: LiveField[] }[] = [];
  for (const field of fields) {
    const name = field.path.length > 1 ? field.path[0] : undefined;
    const last = groups.at(-1);
    if (last && last.name === name) last.fields.push(field);
    else groups.push({ name, fields: [field] });
  }
  return groups;
}

type Params = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Params =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value at a path; undefined: there is none. */
export function valueAt(params: Params | undefined, [param, member]: LiveField['path']): unknown {
  const value = params?.[param];
  if (member === undefined) return value;
  return isObject(value) ? value[member] : undefined;
}

/** A change of one value, as `changeParams` takes it: null restores the default. */
export const changeOf = ([param, member]: LiveField['path'], value: unknown): Params => ({
  [param]: member === undefined ? value : { [member]: value },
});

/** The value in effect: the changed one, else the graph's, else the default; undefined: the model's, or none. */
export function currentValue(
  { path, schema }: LiveField,
  fromGraph: Params | undefined,
  changed: Params | undefined,
): unknown {
  const change = valueAt(changed, path);
  if (change === null) return schema.default;
  return change ?? valueAt(fromGraph, path) ?? schema.default;
}

/** Adds a change of one value to the changes of all nodes. */
export function addChange(
  changed: ChangedParams,
  node: string,
  [param, member]: LiveField['path'],
  value: unknown,
): ChangedParams {
  const params = changed[node] ?? {};
  const before = params[param];
  const after = member === undefined ? value : { ...(isObject(before) ? before : {}), [member]: value };
  return { ...changed, [node]: { ...params, [param]: after } };
}

/** Whether a value was changed and is not the graph's any more. */
export function isChanged(
  { path, schema }: LiveField,
  fromGraph: Params | undefined,
  changed: Params | undefined,
): boolean {
  const before = valueAt(fromGraph, path) ?? schema.default;
  return valueAt(changed, path) !== undefined && !isSame(currentValue({ path, schema }, fromGraph, changed), before);
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** What an input shows for a value. */
export function inputText(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string'
    ? value
    : JSON.stringify(value, null, isObject(value) || Array.isArray(value) ? 2 : 0);
}

/** Reads what was typed. An empty input of anything but a text restores the default. @throws Error when it is no value. */
export function readInput(text: string, { type, enum: choices }: FieldSchema): unknown {
  if (choices) return choices.find((choice) => String(choice) === text) ?? null;
  if (type === 'string') return text;
  if (text.trim() === '') return null;
  if (type === 'number' || type === 'integer') {
    const value = Number(text);
    if (Number.isNaN(value)) throw new Error(`"${text}" is no number`);
    return value;
  }
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // Of several types one may be a plain string.
    if (type === undefined) return text;
    throw new Error('this is no valid JSON');
  }
}
