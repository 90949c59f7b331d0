import { findNodeAtOffset, getNodePath, parseTree, type Node } from 'jsonc-parser';
import { escapePointerToken, pointerTokens } from '../../../src/base/jsonPointer.ts';

/** A part of a text, as offsets. */
export interface TextRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Finds the value that a JSON pointer names in the text of a document: the value, or the key of an object or list; of a
 * value that is not there, what would contain it.
 */
export function pointerRange(text: string, pointer: string): TextRange {
  const root = parseTree(text);
  if (!root) return { from: 0, to: 0 };
  let current = root;
  for (const token of pointerTokens(pointer)) {
    const next = childOf(current, token);
    if (!next) break;
    current = next;
  }
  const key = current.parent?.type === 'property' ? current.parent.children?.[0] : undefined;
  const isLarge = current.type === 'object' || current.type === 'array';
  const { offset, length } = isLarge && key ? key : current;
  return { from: offset, to: isLarge && !key ? offset + 1 : offset + length };
}

/** The JSON pointer of the value at an offset of the text; "" where there is none. */
export function pointerAt(text: string, offset: number): string {
  const root = parseTree(text);
  const node = root && findNodeAtOffset(root, offset, true);
  return node ? getNodePath(node).map(escapePointerToken).join('') : '';
}

function childOf({ type, children = [] }: Node, token: string): Node | undefined {
  if (type === 'array') return /^\d+$/.test(token) ? children[Number(token)] : undefined;
  return children.find(({ children: [key] = [] }) => key?.value === token)?.children?.[1];
}
