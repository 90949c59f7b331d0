import {
  applyEdits,
  findNodeAtLocation,
  getNodeValue,
  modify,
  parseTree,
  type Edit,
  type JSONPath,
  type Node,
} from 'jsonc-parser';

const formattingOptions = { insertSpaces: true, tabSize: 2, eol: '\n' } as const;

/** The usual order of members in a graph file and in its nodes; others come last. */
const memberOrder = ['$schema', 'description', 'default_model_name', 'start_node', 'nodes', 'type', 'params', 'exits'];

/** Sets the value at a path, or removes it (undefined); the rest of the text keeps its format. */
export function setValue(text: string, path: JSONPath, value: unknown): string {
  if (value === undefined) return removeValue(text, path);
  const root = parseTree(text) ?? noNode;
  // The first member that is missing is inserted, with what it contains.
  const name = path.find((_, index) => !findNodeAtLocation(root, path.slice(0, index + 1))) ?? '';
  const options = { formattingOptions, getInsertionIndex: (names: string[]) => insertionIndex(names, name) };
  return applyEdits(text, modify(text, path, value, options));
}

/** Inserts a value into a list before the entry with an index. */
export const insertEntry = (text: string, list: JSONPath, index: number, value: unknown): string =>
  findNodeAtLocation(parseTree(text) ?? noNode, [...list])?.type === 'array'
    ? applyEdits(text, modify(text, [...list, index], value, { formattingOptions, isArrayInsertion: true }))
    : setValue(text, list, [value]);

/** Exchanges two entries of a list, each with the format of its text. */
export function swapEntries(text: string, list: JSONPath, index: number, other: number): string {
  const entries = findNodeAtLocation(parseTree(text) ?? noNode, [...list])?.children ?? [];
  const [first, second] = [entries[Math.min(index, other)], entries[Math.max(index, other)]];
  if (!first || !second || first === second) return text;
  const [a, b] = [textOf(text, first), textOf(text, second)];
  return replaceRanges(text, [
    { offset: first.offset, length: first.length, content: b },
    { offset: second.offset, length: second.length, content: a },
  ]);
}

/** Adds a node after all others; of a graph without a start node it becomes the start. */
export function addNode(text: string, name: string, node: object): string {
  const added = setValue(text, ['nodes', name], node);
  const root = parseTree(added);
  const start: unknown = root && getNodeValue(findNodeAtLocation(root, ['start_node']) ?? noNode);
  return start ? added : setValue(added, ['start_node'], name);
}

/** Removes a node. The exits that led to it end the turn. The start moves to the node that the first exit led to. */
export function removeNode(text: string, name: string): string {
  const root = parseTree(text);
  if (!root) return text;
  const exits = exitsOf(root).filter(({ node, target }) => target === name && node !== name);
  const start = findNodeAtLocation(root, ['start_node']);
  const next = exitsOf(root).find(({ node, target }) => node === name && target !== name)?.target;
  let result = text;
  for (const { node, exit } of exits) result = setValue(result, ['nodes', node, 'exits', exit], undefined);
  if (start && getNodeValue(start) === name && next) result = setValue(result, ['start_node'], next);
  return setValue(result, ['nodes', name], undefined);
}

/** Renames a node, and all exits and the start that name it. */
export function renameNode(text: string, from: string, to: string): string {
  const root = parseTree(text);
  const key = root && findNodeAtLocation(root, ['nodes', from])?.parent?.children?.[0];
  if (!root || !key) return text;
  const start = findNodeAtLocation(root, ['start_node']);
  const mentions = exitsOf(root).flatMap(({ value, target }) => (target === from ? [value] : []));
  if (start && getNodeValue(start) === from) mentions.push(start);
  return replaceRanges(
    text,
    [key, ...mentions].map(({ offset, length }) => ({ offset, length, content: JSON.stringify(to) })),
  );
}

/** Adds a copy of a node. */
export function duplicateNode(text: string, name: string, copy: string): string {
  const node = findNodeAtLocation(parseTree(text) ?? noNode, ['nodes', name]);
  return node ? setValue(text, ['nodes', copy], getNodeValue(node)) : text;
}

/** A name that is not taken: the base, or the base with a number from 2. */
export function uniqueName(base: string, taken: readonly string[]): string {
  if (!taken.includes(base)) return base;
  let number = 2;
  while (taken.includes(`${base}_${number}`)) number += 1;
  return `${base}_${number}`;
}

const noNode: Node = { type: 'null', offset: 0, length: 0 };
const textOf = (text: string, { offset, length }: Node): string => text.slice(offset, offset + length);

const replaceRanges = (text: string, edits: readonly Edit[]): string =>
  applyEdits(
    text,
    edits.toSorted((a, b) => a.offset - b.offset),
  );

function insertionIndex(names: readonly string[], name: unknown): number {
  const rank = memberOrder.indexOf(String(name));
  const index = rank < 0 ? -1 : names.findIndex((other) => memberOrder.indexOf(other) > rank);
  return index < 0 ? names.length : index;
}

// An object that becomes empty is removed, too; nodes, and entries of lists, stay.
function removeValue(text: string, path: JSONPath): string {
  const root = parseTree(text);
  if (!root || !findNodeAtLocation(root, [...path])) return text;
  const parent = path.slice(0, -1);
  const isLast = findNodeAtLocation(root, parent)?.children?.length === 1;
  if (isLast && parent.length > 2 && typeof path.at(-1) === 'string' && typeof parent.at(-1) === 'string')
    return removeValue(text, parent);
  return applyEdits(text, modify(text, path, undefined, { formattingOptions }));
}

interface ExitText {
  readonly node: string;
  readonly exit: string;
  readonly target: unknown;
  readonly value: Node;
}

const propertiesOf = (object: Node | undefined): readonly (readonly [string, Node])[] =>
  (object?.type === 'object' ? (object.children ?? []) : []).flatMap(({ children: [key, value] = [] }) =>
    key && value ? [[String(key.value), value] as const] : [],
  );

const exitsOf = (root: Node): readonly (ExitText & { readonly target: string })[] =>
  propertiesOf(findNodeAtLocation(root, ['nodes'])).flatMap(([node, value]) =>
    propertiesOf(findNodeAtLocation(value, ['exits'])).flatMap(([exit, target]) =>
      target.type === 'string' ? [{ node, exit, target: String(target.value), value: target }] : [],
    ),
  );

/** Renames an exit of a node, or removes it (undefined); one that has the name already stays. */
export function renameExit(text: string, node: string, from: string, to: string | undefined): string {
  const root = parseTree(text);
  const path = ['nodes', node, 'exits'];
  const key = root && findNodeAtLocation(root, [...path, from])?.parent?.children?.[0];
  if (!root || !key || to === from) return text;
  if (to === undefined) return removeValue(text, [...path, from]);
  if (findNodeAtLocation(root, [...path, to])) return text;
  return replaceRanges(text, [{ offset: key.offset, length: key.length, content: JSON.stringify(to) }]);
}
