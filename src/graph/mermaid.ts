import type { GraphDocument } from './document.ts';
import type { Registry } from './registry.ts';

/** A graph as a Mermaid flowchart: a box for each node, an arrow for each exit, those that end the turn included. */
export function toMermaid({ start_node, nodes }: GraphDocument, registry: Registry): string {
  const names = Object.keys(nodes);
  const idOf = (name: string): string => `n${names.indexOf(name)}`;
  const boxes = Object.entries(nodes).map(
    ([name, { type }]) => `  ${idOf(name)}["${quoted(name)}<br/><i>${quoted(type)}</i>"]`,
  );
  const arrows = Object.entries(nodes).flatMap(([name, { type, exits }]) =>
    (registry.get(type)?.exits ?? Object.keys(exits)).map((exit) => {
      const target = exits[exit] ?? '';
      const label = exit === 'default' ? '-->' : `-->|${quoted(exit)}|`;
      return `  ${idOf(name)} ${label} ${target === '' ? 'done' : idOf(target)}`;
    }),
  );
  return ['flowchart TD', '  start(( )) --> ' + idOf(start_node), ...boxes, ...arrows, '  done((end))', ''].join('\n');
}

// Mermaid ends a label at a quote, and reads entities.
const quoted = (text: string): string =>
  text.replaceAll('#', '#35;').replaceAll('"', '#quot;').replaceAll('|', '#124;');
