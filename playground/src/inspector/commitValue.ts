import { getNodeValue, findNodeAtLocation, parseTree, type JSONPath } from 'jsonc-parser';
import type { ExitsFromParam } from '../../../src/graph/compile/exits.ts';
import { useDocument } from '../document/documentStore.ts';
import { insertEntry, renameExit, setValue, swapEntries } from '../document/graphEdits.ts';
import { useTypes } from '../document/typesStore.ts';

/** Sets the value at a path of the document, or removes it (undefined). An exit that is named by the value is renamed, too. */
export function commitValue(path: JSONPath, value: unknown): void {
  const { text, graph, setText } = useDocument.getState();
  const [, node] = path;
  const { exitsFrom } = useTypes.getState().types.types.get(graph?.nodes[String(node)]?.type ?? '') ?? {};
  const set = setValue(text, path, value);
  const exit = exitsFrom && exitNamedAt(text, path, exitsFrom);
  const named = exit === undefined ? set : renameExit(set, String(node), exit, newName(value, exitsFrom));
  setText(named, value === undefined ? '' : path.join('/'));
}

/** Inserts an entry into a list of the document. */
export function commitInsert(list: JSONPath, index: number, value: unknown): void {
  const { text, setText } = useDocument.getState();
  setText(insertEntry(text, list, index, value));
}

/** Exchanges two entries of a list of the document. */
export function commitSwap(list: JSONPath, index: number, other: number): void {
  const { text, setText } = useDocument.getState();
  setText(swapEntries(text, list, index, other));
}

/** The name of the exit that the value at a path gives, before it changes; undefined: it gives none. */
function exitNamedAt(text: string, path: JSONPath, { param, member }: ExitsFromParam): string | undefined {
  const [root, , params, list, index, last] = path;
  if (root !== 'nodes' || params !== 'params' || list !== param || index === undefined) return undefined;
  if (last !== undefined && (last !== member || path.length > 6)) return undefined;
  const full = member !== undefined && last === undefined ? [...path, member] : path;
  const tree = parseTree(text);
  const node = tree && findNodeAtLocation(tree, [...full]);
  const name: unknown = node && getNodeValue(node);
  return typeof name === 'string' ? name : undefined;
}

const newName = (value: unknown, { member }: ExitsFromParam = { param: '' }): string | undefined => {
  if (typeof value === 'string') return value;
  const name = member === undefined ? undefined : (value as Readonly<Record<string, unknown>> | undefined)?.[member];
  return typeof name === 'string' ? name : undefined;
};
