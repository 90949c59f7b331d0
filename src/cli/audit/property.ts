import type { AuditStep } from './walk.ts';

/** The properties that the audit proves or refutes, in the order of the report. */
export const auditProperties = ['message', 'answer', 'bounded', 'reachable'] as const;

/** The name of a property of a graph. */
export type AuditProperty = (typeof auditProperties)[number];

/** Whether a property holds, and why. */
export type PropertyVerdict =
  | { readonly proven: true; readonly reason: string }
  | {
      readonly proven: false;
      readonly reason: string;
      /** What to change. */
      readonly fix: string;
      /** The shortest path on which it does not hold; [] where no path shows it. */
      readonly path: readonly AuditStep[];
      /** The nodes that it is about. */
      readonly nodes: readonly string[];
    };

/** A path as text: `guard -[triggered]-> refuse`. */
export const formatPath = (path: readonly AuditStep[]): string =>
  path
    .map(({ node, exit }, index) => {
      if (exit === undefined) return node;
      return `${node} -[${exit}]-> ${index === path.length - 1 ? '(end of the turn)' : ''}`;
    })
    .join('');

/** Names in a sentence: `a`, `a and b`, `a, b and c`. */
export function listNames(names: readonly string[]): string {
  const last = names.at(-1) ?? '';
  return names.length < 2 ? last : `${names.slice(0, -1).join(', ')} and ${last}`;
}
