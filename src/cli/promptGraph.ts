import { didYouMean } from '../base/didYouMean.ts';
import type { GraphDocument } from '../graph/compile/document.ts';
import { isStated } from '../graph/compile/analysis.ts';
import { defineNode, type AnyNodeType } from '../graph/compile/node.ts';
import type { RegisteredType, Registry } from '../graph/compile/registry.ts';
import type { ToolSelection } from '../graph/compile/turn.ts';
import { isObject } from '../base/jsonTypes.ts';
import { UsageError } from './options.ts';
import { closedObject, partialObject } from '../protocol/schemaBuilders.ts';

/** Whose prompt is wanted, and what replaces its parameters. */
export interface PromptOptions {
  readonly node: string;
  readonly format?: string;
  readonly model?: string;
  /** The guidelines that hold; [] = those that the node that selects tools finds. */
  readonly guideline: readonly string[];
}

/** The part of a graph that makes the prompt of one node. */
export interface PromptGraph {
  readonly graph: GraphDocument;
  /** The model that the node uses; "" = none is named. */
  readonly modelName: string;
  /** The node that selects tools before it; undefined: none does. */
  readonly selector: string | undefined;
  /** Whether the node offers only selected tools. */
  readonly needsSelection: boolean;
  /** The nodes before it that find knowledge for it with a model: they do not run. */
  readonly withModel: readonly string[];
}

type GraphNode = GraphDocument['nodes'][string];
type Params = Readonly<Record<string, unknown>>;

/**
 * Reduces a graph to one node, to those that find knowledge for it without a model, and to the nearest node that selects tools
 * before it where its prompt needs a selection. The others only keep the names that they declare.
 * @throws UsageError for a node or a guideline that is not there.
 */
export function promptGraph(graph: GraphDocument, options: PromptOptions, registry: Registry): PromptGraph {
  const { node: name, format, model, guideline } = options;
  const node = Object.hasOwn(graph.nodes, name) ? graph.nodes[name] : undefined;
  if (!node) throw new UsageError(`the graph has no node "${name}"${didYouMean(name, Object.keys(graph.nodes))}`);
  const own: Params = node.params;
  const params = { ...withModel(own, model), ...(format !== undefined && { tool_call_format: format }) };
  const needsSelection = isStated(effectsOf({ ...node, params }, registry)?.needsSelection);
  const before = nodesBefore(graph, name);
  const selector =
    needsSelection || guideline.length > 0
      ? before.find((other) => isStated(effectsOf(graph.nodes[other], registry)?.selects))
      : undefined;
  if (guideline.length > 0 && selector === undefined)
    throw new UsageError(
      `no node that selects tools leads to "${name}", so it has no guidelines; leave --guideline out`,
    );
  const nodes = new Map(
    Object.entries(graph.nodes).map(([other, given]) => [other, namesNode(other, given, registry)]),
  );
  nodes.set(name, { ...node, params, exits: {} });
  let start = name;
  /** Puts a node before those that run already. */
  const runFirst = (other: string, given: GraphNode): void => {
    nodes.set(other, { ...given, exits: exitsTo(start, given, registry) });
    start = other;
  };
  if (selector !== undefined) {
    runFirst(unusedName(nodes), { type: watchType, params: {}, exits: {} });
    runFirst(selector, selectingNode(graph, selector, options));
  }
  const finders = Object.entries(graph.nodes).filter(([other, given]) => {
    const found = readNode(given, registry);
    return before.includes(other) && found?.type.knowledgeSource(found.params, other) !== undefined;
  });
  const needsModel = ([, given]: readonly [string, GraphNode]): boolean => effectsOf(given, registry)?.infers !== false;
  for (const [finder, given] of finders.toReversed()) if (!needsModel([finder, given])) runFirst(finder, given);
  const named = typeof own['model_name'] === 'string' ? own['model_name'] : '';
  return {
    graph: { ...graph, start_node: start, nodes: Object.fromEntries(nodes) },
    modelName: model ?? (named || graph.default_model_name),
    selector,
    needsSelection,
    withModel: finders.filter(needsModel).map(([finder]) => finder),
  };
}

const watchType = '(selection)';
const namesType = '(names)';

/** The node types of a prompt graph; `onSelection` gets what the node that selects tools has selected. */
export const promptNodeTypes = (
  onSelection: (selection: ToolSelection | undefined) => void,
): readonly AnyNodeType[] => [
  defineNode({
    type: watchType,
    summary: 'Reports the selection of tools.',
    params: partialObject({}),
    exits: ['default'],
    create: async () => ({
      async run({ selection }) {
        onSelection(selection);
        return 'default';
      },
    }),
  }),
  defineNode({
    type: namesType,
    summary: 'Stands for a node that does not run: only the names that it declares count.',
    params: closedObject(['tools'], {
      tools: { type: 'array', items: { type: 'string' } },
      source: { type: 'string' },
    }),
    exits: ['default'],
    toolNames: ({ tools }) => tools,
    knowledgeSource: ({ source }) => source,
    create: async () => ({ run: async () => 'default' }),
  }),
];

/** A node with valid parameters; undefined: they are not valid, or there is no such type. */
function readNode(
  node: GraphNode | undefined,
  registry: Registry,
): { readonly type: RegisteredType; readonly params: object } | undefined {
  const type = registry.get(node?.type ?? '');
  const reading = type?.read(node?.params);
  return type && reading?.ok ? { type, params: reading.value } : undefined;
}

function effectsOf(node: GraphNode | undefined, registry: Registry) {
  const found = readNode(node, registry);
  return found?.type.effects(found.params);
}

function namesNode(nodeName: string, node: GraphNode, registry: Registry): GraphNode {
  const found = readNode(node, registry);
  const source = found?.type.knowledgeSource(found.params, nodeName);
  const tools = found?.type.toolNames(found.params) ?? [];
  return { type: namesType, params: { tools, ...(source !== undefined && { source }) }, exits: {} };
}

/** The nodes that lead to a node, nearest first. */
function nodesBefore({ nodes }: GraphDocument, target: string): readonly string[] {
  const found = new Set([target]);
  for (const reached of found)
    for (const [name, { exits }] of Object.entries(nodes)) if (Object.values(exits).includes(reached)) found.add(name);
  return [...found].slice(1);
}

/** The node that selects tools; where guidelines are named, it has only these, and they hold. */
function selectingNode({ nodes }: GraphDocument, name: string, { guideline: chosen, model }: PromptOptions): GraphNode {
  const node = nodes[name];
  if (!node) throw new TypeError(`there is no node ${name}`);
  const params: Params = node.params;
  if (chosen.length === 0) return { ...node, params: withModel(params, model) };
  const { guidelines } = params;
  const entries = Array.isArray(guidelines) ? guidelines.filter(isObject) : [];
  const names = entries.map((entry) => String(entry['name']));
  for (const each of chosen)
    if (!names.includes(each)) throw new UsageError(`"${name}" has no guideline "${each}"${didYouMean(each, names)}`);
  // The empty text begins every message.
  const held = entries
    .filter((entry) => chosen.includes(String(entry['name'])))
    .map((entry) => ({ ...entry, patterns: ['^'] }));
  const others = Object.entries(params).filter(([param]) => param !== 'model_name');
  return { ...node, params: { ...Object.fromEntries(others), guidelines: held, match: 'patterns' } };
}

const withModel = (params: Params, model: string | undefined): Params =>
  model !== undefined && 'model_name' in params ? { ...params, model_name: model } : params;

function exitsTo(target: string, node: GraphNode, registry: Registry): Record<string, string> {
  const found = readNode(node, registry);
  const exits = found ? found.type.exits(found.params) : (registry.get(node.type)?.fixedExits ?? []);
  return Object.fromEntries(exits.map((exit) => [exit, target]));
}

function unusedName(nodes: ReadonlyMap<string, unknown>): string {
  let name = watchType;
  while (nodes.has(name)) name += '_';
  return name;
}
