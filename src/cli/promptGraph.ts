import { didYouMean } from '../base/didYouMean.ts';
import { isObject } from '../base/jsonTypes.ts';
import { withMembers } from '../base/withMembers.ts';
import { isStated } from '../graph/compile/analysis.ts';
import { checkDocument } from '../graph/compile/compile.ts';
import type { GraphDocument } from '../graph/compile/document.ts';
import type { Node, NodeContext } from '../graph/compile/node.ts';
import type { RegisteredType, Registry } from '../graph/compile/registry.ts';
import type { ToolSelection } from '../graph/compile/turn.ts';
import type { ModelLease } from '../inference/models/pool/lease.ts';
import { UsageError } from './options.ts';

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
  /** The nodes that run, in their order. */
  readonly running: readonly string[];
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
 * before it where its prompt needs a selection. The others only declare their names.
 * @throws UsageError for a node or a guideline that is not there.
 */
export function promptGraph(graph: GraphDocument, options: PromptOptions, registry: Registry): PromptGraph {
  const { node: name, format, model, guideline } = options;
  const node = Object.hasOwn(graph.nodes, name) ? graph.nodes[name] : undefined;
  if (!node) throw new UsageError(`the graph has no node "${name}"${didYouMean(name, Object.keys(graph.nodes))}`);
  const own: Params = node.params;
  const params = { ...withModel(own, model), ...(format !== undefined && { tool_call_format: format }) };
  const nodes = new Map(Object.entries(graph.nodes)).set(name, { ...node, params });
  const { plans } = checkDocument({ ...graph, nodes: Object.fromEntries(nodes) }, [...nodes.keys()], registry);
  const effectsOf = (other: string) => {
    const plan = plans.get(other);
    return plan?.type.effects(plan.params);
  };
  const before = nodesBefore(graph, name);
  const needsSelection = isStated(effectsOf(name)?.needsSelection);
  const isSelecting = (other: string): boolean => isStated(effectsOf(other)?.selects);
  const selector = needsSelection || guideline.length > 0 ? before.find(isSelecting) : undefined;
  const selecting = graph.nodes[selector ?? ''];
  if (selector !== undefined && selecting) nodes.set(selector, selectingNode(selector, selecting, options));
  else if (guideline.length > 0)
    throw new UsageError(
      `no node that selects tools leads to "${name}", so it has no guidelines; leave --guideline out`,
    );
  const finders = [...plans]
    .filter(([other, plan]) => before.includes(other) && plan.type.knowledgeSource(plan.params, other) !== undefined)
    .map(([other]) => other);
  const needsModel = (finder: string): boolean => effectsOf(finder)?.infers !== false;
  const found = finders.filter((finder) => !needsModel(finder));
  const running = [...found, ...(selector === undefined ? [] : [selector]), name];
  // Those that have faults declare nothing; of the nodes that run, the agent tells them.
  const kept = [...nodes].filter(([other]) => plans.has(other) || running.includes(other));
  // Of a node that does not run it does not matter where it leads.
  const leadOn = ([other, given]: readonly [string, GraphNode]) =>
    [other, { ...given, exits: { [onlyExit]: running[running.indexOf(other) + 1] ?? '' } }] as const;
  const named = typeof own['model_name'] === 'string' ? own['model_name'] : '';
  return {
    graph: { ...graph, start_node: running[0] ?? name, nodes: Object.fromEntries(kept.map(leadOn)) },
    running,
    modelName: model ?? (named || graph.default_model_name),
    selector,
    needsSelection,
    withModel: finders.filter(needsModel),
  };
}

/**
 * The node types of a prompt graph: of a node that does not run only the names that it declares count.
 * @param replaceLease gives the lease that a node gets in place of its own.
 * @param onSelection gets what the node that selects tools has selected.
 */
export function promptRegistry(
  registry: Registry,
  { running, selector }: PromptGraph,
  replaceLease: (lease: ModelLease, nodeName: string) => ModelLease,
  onSelection: (selection: ToolSelection | undefined) => void,
): Registry {
  const createWith = async (type: RegisteredType, params: object, context: NodeContext): Promise<Node> => {
    const { nodeName } = context;
    if (!running.includes(nodeName)) return { run: async () => onlyExit };
    const model: NodeContext['model'] = async (...wanted) => replaceLease(await context.model(...wanted), nodeName);
    const node = await type.create(params, { ...context, model });
    return withMembers(node, {
      async run(turn) {
        await node.run(turn);
        if (nodeName === selector) onSelection(turn.selection);
        return onlyExit;
      },
    });
  };
  const typeOf = (type: RegisteredType): RegisteredType => ({
    ...type,
    fixedExits: [onlyExit],
    exits: () => [onlyExit],
    create: (params, context) => createWith(type, params, context),
  });
  return new Map([...registry].map(([name, type]) => [name, typeOf(type)]));
}

// Whatever a node finds out, the next one runs.
const onlyExit = 'next';

/** The nodes that lead to a node, nearest first. */
function nodesBefore({ nodes }: GraphDocument, target: string): readonly string[] {
  const found = new Set([target]);
  for (const reached of found)
    for (const [name, { exits }] of Object.entries(nodes)) if (Object.values(exits).includes(reached)) found.add(name);
  return [...found].slice(1);
}

/** The node that selects tools; where guidelines are named, it has only these, and they hold. */
function selectingNode(name: string, node: GraphNode, { guideline: chosen, model }: PromptOptions): GraphNode {
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
  return { ...node, params: { ...withModel(params, ''), guidelines: held, match: 'patterns' } };
}

const withModel = (params: Params, model: string | undefined): Params =>
  model !== undefined && 'model_name' in params ? { ...params, model_name: model } : params;
