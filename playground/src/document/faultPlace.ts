import { escapePointerToken, pointerTokens } from '../../../src/base/jsonPointer.ts';
import type { GraphFault } from './graphDocument.ts';

/** The name of the node that a JSON pointer leads into; undefined: none. */
export function nodeOfPointer(pointer: string): string | undefined {
  const [root, name] = pointerTokens(pointer);
  return root === 'nodes' ? name : undefined;
}

/** The JSON pointer of a node. */
export const nodePointer = (name: string): string => `/nodes${escapePointerToken(name)}`;

/**
 * The JSON pointer of a warning of the server, which is a sentence that begins with the place: `answer is unreachable`,
 * `route.params.labels[0] never matches`. "" where it begins with no node.
 */
export function warningPointer(message: string, names: readonly string[]): string {
  const candidates = names.filter((name) => message.startsWith(name) && /^([ .,:]|$)/.test(message.slice(name.length)));
  const [name] = candidates.toSorted((a, b) => b.length - a.length);
  if (name === undefined) return '';
  const [path = ''] = /^(\.(params|exits)(\.[\w$-]+|\[\d+\])*)?/.exec(message.slice(name.length)) ?? [];
  const tokens = path.split(/[.[\]]+/).filter((token) => token !== '');
  return nodePointer(name) + tokens.map(escapePointerToken).join('');
}

/** The faults of a value and of all within it. */
export const faultsWithin = (faults: readonly GraphFault[], pointer: string): readonly GraphFault[] =>
  faults.filter((fault) => fault.pointer === pointer || fault.pointer.startsWith(`${pointer}/`));

/** The faults by the name of their node; "" has those of no node. */
export function faultsByNode(faults: readonly GraphFault[]): ReadonlyMap<string, readonly GraphFault[]> {
  const result = new Map<string, readonly GraphFault[]>();
  for (const fault of faults) {
    const node = nodeOfPointer(fault.pointer) ?? '';
    result.set(node, [...(result.get(node) ?? []), fault]);
  }
  return result;
}
