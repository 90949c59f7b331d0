import { Command } from 'commander';
import { loadExtension, registryWith } from '../../graph/nodes/index.ts';
import { findGraph, readGraph } from '../findGraph.ts';
import { serverFlags, serverOptions } from '../options.ts';
import { printable } from '../output/terminalText.ts';
import type { GraphDocument } from '../../graph/compile/document.ts';
import type { RegisteredType, Registry } from '../../graph/compile/registry.ts';

export const drawCommand = (): Command =>
  serverFlags(
    new Command('draw')
      .description('print a graph as a Mermaid flowchart')
      .argument('<graph>', 'a graph file, or a name in the graphs folder'),
    ['graphs', 'extend'],
  ).action(async (graph: string, flags: Record<string, unknown>) => {
    const options = serverOptions(flags);
    const registry = registryWith(await loadExtension(options.extend));
    const { path } = await findGraph(graph, options.graphs);
    process.stdout.write(toMermaid(await readGraph(path), registry));
  });

/** Renders a graph as a Mermaid flowchart: a box for each node, an arrow for each exit that it can take, also for those that end the turn. */
export function toMermaid({ start_node, nodes }: GraphDocument, registry: Registry): string {
  const names = Object.keys(nodes);
  const idOf = (name: string): string => `n${names.indexOf(name)}`;
  const boxes = Object.entries(nodes).map(
    ([name, { type }]) => `  ${idOf(name)}["${escapeLabel(name)}<br/><i>${escapeLabel(type)}</i>"]`,
  );
  const arrows = Object.entries(nodes).flatMap(([name, { type, params, exits }]) => {
    const targets = new Map(Object.entries(exits));
    const shown = exitsOf(registry.get(type), params, targets) ?? [...targets.keys()];
    return shown.map((exit) => {
      const target = targets.get(exit) ?? '';
      const arrow = exit === 'default' && shown.length === 1 ? '-->' : `-->|${arrowLabel(exit)}|`;
      return `  ${idOf(name)} ${arrow} ${target === '' ? 'done' : idOf(target)}`;
    });
  });
  return ['flowchart TD', '  start(( )) --> ' + idOf(start_node), ...boxes, ...arrows, '  done((end))', ''].join('\n');
}

/** The exits of a node, without those that it never takes with its parameters; undefined: they are not known. */
function exitsOf(
  type: RegisteredType | undefined,
  params: object,
  targets: ReadonlyMap<string, string>,
): readonly string[] | undefined {
  const reading = type?.read(params);
  const exits = reading?.ok ? type?.exits(reading.value, [...targets.keys()]) : type?.fixedExits;
  const unused = reading?.ok && exits ? type?.effects(reading.value, exits)?.unusedExits : undefined;
  return exits?.filter((exit) => (targets.get(exit) ?? '') !== '' || !unused?.includes(exit));
}

// A label on an arrow may have brackets and spaces only in quotes.
const arrowLabel = (exit: string): string => (/^\w+$/.test(exit) ? exit : `"${escapeLabel(exit)}"`);

// Escapes what ends a label or begins an entity or a tag in Mermaid; a label is on one line.
const escapeLabel = (text: string): string =>
  printable(text).replaceAll('#', '#35;').replaceAll('"', '#quot;').replaceAll('|', '#124;').replaceAll('<', '#lt;');
