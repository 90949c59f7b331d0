import type { CallLayout } from './layout.ts';

/**
 * The name of the notation in which a layout writes calls: `json` (a call is a JSON object), `named json` (a name between
 * marks, then JSON arguments), or that of its parameter values: `tagged`, `keyValue`, `python`.
 */
export function notationName({ arguments: notation }: CallLayout): string {
  if (notation.kind === 'parameters') return notation.values;
  return notation.keys ? 'json' : 'named json';
}
