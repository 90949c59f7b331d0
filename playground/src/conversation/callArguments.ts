import { parseTree, type Node } from 'jsonc-parser';

/** An argument of a call as the page shows it. */
export interface ShownArgument {
  readonly name: string;
  /** Strings without quotes, everything else as JSON text with all its digits. */
  readonly value: string;
  readonly type: string;
}

/** The arguments of a call, from the JSON text of its object: numbers keep all their digits, unlike in JavaScript. */
export function shownArguments(json: string): readonly ShownArgument[] {
  const root = parseTree(json);
  if (root?.type !== 'object') return [];
  return (root.children ?? []).flatMap(({ children: [name, value] = [] }) =>
    name && value ? [{ name: String(name.value), value: valueText(value, json), type: typeOf(value, json) }] : [],
  );
}

const sourceOf = ({ offset, length }: Node, json: string): string => json.slice(offset, offset + length);

const valueText = (node: Node, json: string): string =>
  node.type === 'string' ? String(node.value) : sourceOf(node, json);

function typeOf(node: Node, json: string): string {
  if (node.type === 'array') return 'list';
  if (node.type !== 'number') return node.type;
  return /^-?\d+$/.test(sourceOf(node, json)) ? 'integer' : 'number';
}

/** Arguments in one line, as in `name: porch, on: true`. */
export const argumentLine = (args: readonly ShownArgument[]): string =>
  args.map(({ name, value }) => `${name}: ${value}`).join(', ');

/** A draft of what the next message tells the model about a call whose result the turn does not wait for. */
export function outcomeSentence(toolName: string, args: readonly ShownArgument[]): string {
  return args.length === 0 ? `(${toolName} is done.)` : `(${toolName} with ${argumentLine(args)} is done.)`;
}

/** What is wrong with a result that looks like JSON and is none; undefined: nothing. Any text may be a result. */
export function jsonDoubt(content: string): string | undefined {
  if (!/^\s*[[{"]/.test(content)) return undefined;
  try {
    JSON.parse(content);
    return undefined;
  } catch {
    return 'this is no valid JSON: the model gets it as text';
  }
}
