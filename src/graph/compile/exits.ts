import { isObject } from '../../base/jsonTypes.ts';

/** Exits from a parameter: one for each entry of a list; as data, so that graph.schema.json and editors have it. */
export interface ExitsFromParam {
  /** The parameter: a list of strings, or of objects. */
  readonly param: string;
  /** The member of the objects that is the name of the exit; absent: the entries themselves are. */
  readonly member?: string;
  /** Exits that every node of the type has after these. */
  readonly and?: readonly string[];
  /** Exits after these of the nodes in which a parameter has a value. */
  readonly if?: { readonly param: string; readonly is: string; readonly exits: readonly string[] };
  /** Without the list a node has these exits, and those that the graph connects. Absent: only those above. */
  readonly withoutList?: readonly string[];
}

/** The exits of a node with these parameters, each once. @param connected the exits that the graph connects. */
export function exitsFromParam(
  { param, member, and = [], if: conditional, withoutList }: ExitsFromParam,
  params: Readonly<Record<string, unknown>>,
  connected: readonly string[],
): readonly string[] {
  const list = params[param];
  if (list === undefined && withoutList) return [...new Set([...connected, ...withoutList])];
  const entries: readonly unknown[] = Array.isArray(list) ? list : [];
  const names = entries.map((entry) => (member === undefined || !isObject(entry) ? entry : entry[member]));
  const more = conditional && params[conditional.param] === conditional.is ? conditional.exits : [];
  return [...new Set([...names.filter((name) => typeof name === 'string'), ...and, ...more])];
}
