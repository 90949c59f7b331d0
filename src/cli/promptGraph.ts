import { didYouMean } from '../base/didYouMean.ts';
import type { GraphDocument } from '../graph/compile/document.ts';
import { type NodeEffects, defineNode, type AnyNodeType } from '../graph/compile/node.ts';
import { isStated } from '../graph/compile/lint.ts';
import type { Registry } from '../graph/compile/registry.ts';
import type { ToolSelection } from '../graph/compile/turn.ts';
import { isObject } from '../base/jsonTypes.ts';
import { UsageError } from './options.ts';

/** Whose prompt is wanted, and what replaces its parameters. */
export interface PromptOptions {
  readonly node: string;
  readonly format?: string;
  readonly model?: string;
  /** The guidelines that hold; [] = those that the node that selects tools finds. */
  readonly guideline: readonly string[];
  /** The nodes that run first, because they find knowledge for its templates. */
  readonly finders: readonly string[];
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
}

type GraphNode = GraphDocument['nodes'][string];
type Params = Readonly<Record<string, unknown>>;

/**
 * Reduces a graph to one node, to those that find knowledge for it, and to the nearest node that selects tools before it where
 * its prompt needs a selection. The others only keep the names that they declare.
 * @throws UsageError for a node or a guideline that is not there.
 */
export function promptGraph(graph: GraphDocument, options: PromptOptions, registry: Registry): PromptGraph {
  const { node: name, format, model, guideline, finders } = options;
  const node = Object.hasOwn(graph.nodes, name) ? graph.nodes[name] : undefined;
  if (!node) throw new UsageError(`the graph has no node "${name}"${didYouMean(name, Object.keys(graph.nodes))}`);
  const own: Params = node.params;
  const params = { ...withModel(own, model), ...(format !== undefined && { tool_call_format: format }) };
  const needsSelection = isStated(effectsOf({ ...node, params }, registry)?.needsSelection);
  const selector = needsSelection || guideline.length > 0 ? findSelector(graph, name, registry) : undefined;
  if (guideline.length > 0 && selector === undefined)
    throw new UsageError(
      `no node that selects tools leads to "${name}", so it has no guidelines; leave --guideline out`,
    );
  const nodes = new Map<string, GraphNode>(
    Object.entries(graph.nodes).map(([other, { type, params: given }]) => [
      other,
      namesNode(other, type, given, registry),
    ]),
  );
  nodes.set(name, { ...node, params, exits: {} });
  const watchName = unusedName(nodes);
  if (selector !== undefined) {
    const selecting = selectingNode(graph, selector, options, registry);
    nodes.set(selector, { ...selecting, exits: exitsTo(watchName, selecting, registry) });
    nodes.set(watchName, { type: watchType, params: {}, exits: { default: name } });
  }
  let start = selector ?? name;
  for (const finder of finders.toReversed()) {
    const finding = graph.nodes[finder];
    if (!finding) throw new TypeError(`there is no node ${finder}`);
    nodes.set(finder, { ...finding, exits: exitsTo(start, finding, registry) });
    start = finder;
  }
  const named = typeof own['model_name'] === 'string' ? own['model_name'] : '';
  return {
    graph: { ...graph, start_node: start, nodes: Object.fromEntries(nodes) },
    modelName: model ?? (named || graph.default_model_name),
    selector,
    needsSelection,
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
    params: { type: 'object', additionalProperties: false, properties: {} },
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
    params: {
      type: 'object',
      additionalProperties: false,
      required: ['tools'],
      properties: { tools: { type: 'array', items: { type: 'string' } }, source: { type: 'string' } },
    },
    exits: ['default'],
    toolNames: ({ tools }) => tools,
    knowledgeSource: ({ source }) => source,
    create: async () => ({ run: async () => 'default' }),
  }),
];

function namesNode(nodeName: string, typeName: string, params: object, registry: Registry): GraphNode {
  const type = registry.get(typeName);
  const reading = type?.read(params);
  if (!type || !reading?.ok) return { type: namesType, params: { tools: [] }, exits: {} };
  const source = type.knowledgeSource(reading.value, nodeName);
  const tools = type.toolNames(reading.value);
  return { type: namesType, params: { tools, ...(source !== undefined && { source }) }, exits: {} };
}

function effectsOf({ type: typeName, params }: GraphNode, registry: Registry): NodeEffects | undefined {
  const type = registry.get(typeName);
  const reading = type?.read(params);
  return type && reading?.ok ? type.effects(reading.value) : undefined;
}

/** The nearest node that selects tools and leads to a node; undefined: there is none. */
function findSelector({ nodes }: GraphDocument, target: string, registry: Registry): string | undefined {
  const found = new Set([target]);
  for (const reached of found)
    for (const [name, node] of Object.entries(nodes)) {
      if (found.has(name) || !Object.values(node.exits).includes(reached)) continue;
      if (isStated(effectsOf(node, registry)?.selects)) return name;
      found.add(name);
    }
  return undefined;
}

/** The node that selects tools; where guidelines are named, it has only these, and they hold. */
function selectingNode(
  { nodes }: GraphDocument,
  name: string,
  { guideline: chosen, model }: PromptOptions,
  registry: Registry,
): GraphNode {
  const node = nodes[name];
  if (!node || !registry.has(node.type)) throw new TypeError(`there is no node ${name}`);
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

function exitsTo(target: string, { type: typeName, params }: GraphNode, registry: Registry): Record<string, string> {
  const type = registry.get(typeName);
  const reading = type?.read(params);
  const exits = type && reading?.ok ? type.exits(reading.value) : (type?.fixedExits ?? []);
  return Object.fromEntries(exits.map((exit) => [exit, target]));
}

function unusedName(nodes: ReadonlyMap<string, unknown>): string {
  let name = watchType;
  while (nodes.has(name)) name += '_';
  return name;
}
