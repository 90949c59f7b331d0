import type { GraphDocument } from './document.ts';
import type { RegisteredType, Registry } from './registry.ts';

/** Renders a graph as a Mermaid flowchart: a box for each node, an arrow for each exit that it can take, also for those that end the turn. */
export function toMermaid({ start_node, nodes }: GraphDocument, registry: Registry): string {
  const names = Object.keys(nodes);
  const idOf = (name: string): string => `n${names.indexOf(name)}`;
  const boxes = Object.entries(nodes).map(
    ([name, { type }]) => `  ${idOf(name)}["${escapeLabel(name)}<br/><i>${escapeLabel(type)}</i>"]`,
  );
  const arrows = Object.entries(nodes).flatMap(([name, { type, params, exits }]) =>
    (exitsOf(registry.get(type), params, exits) ?? Object.keys(exits)).map((exit) => {
      const target = exits[exit] ?? '';
      const arrow = exit === 'default' ? '-->' : `-->|${escapeLabel(exit)}|`;
      return `  ${idOf(name)} ${arrow} ${target === '' ? 'done' : idOf(target)}`;
    }),
  );
  return ['flowchart TD', '  start(( )) --> ' + idOf(start_node), ...boxes, ...arrows, '  done((end))', ''].join('\n');
}

/** The exits of a node, without those that it never takes with its parameters; undefined: they are not known. */
function exitsOf(
  type: RegisteredType | undefined,
  params: object,
  targets: Readonly<Record<string, string>>,
): readonly string[] | undefined {
  const reading = type?.read(params);
  const exits = reading?.ok ? type?.exits(reading.value) : type?.fixedExits;
  const unused = reading?.ok ? type?.output(reading.value)?.unusedExits : undefined;
  return exits?.filter((exit) => (targets[exit] ?? '') !== '' || !unused?.includes(exit));
}

// Escapes what ends a label or begins an entity in Mermaid.
const escapeLabel = (text: string): string =>
  text.replaceAll('#', '#35;').replaceAll('"', '#quot;').replaceAll('|', '#124;');
