import { isObject } from '../../base/jsonTypes.ts';

/**
 * Exits that follow from a parameter: one for each entry of a list. As a value, so that graph.schema.json contains it
 * and an editor knows the exits of a node while its parameters are edited.
 */
export interface ExitsFromParam {
  /** The parameter: a list of strings, or of objects. */
  readonly param: string;
  /** The member of the objects that is the name of the exit; absent: the entries themselves are. */
  readonly member?: string;
  /** Exits that every node of the type has after these. */
  readonly and?: readonly string[];
}

/** The exits of a node with these parameters, each once. */
export function exitsFromParam({ param, member, and = [] }: ExitsFromParam, params: object): readonly string[] {
  const list: unknown = (params as Readonly<Record<string, unknown>>)[param];
  const entries: readonly unknown[] = Array.isArray(list) ? list : [];
  const names = entries.map((entry) => (member === undefined || !isObject(entry) ? entry : entry[member]));
  return [...new Set([...names.filter((name) => typeof name === 'string'), ...and])];
}
