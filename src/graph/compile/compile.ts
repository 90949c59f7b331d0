import { runChunk } from '../../base/eventLoop.ts';
import { escapePointerToken } from '../../base/jsonPointer.ts';
import { isObject } from '../../base/jsonTypes.ts';
import { createReader } from '../../protocol/schema.ts';
import { didYouMean, listNames } from '../../base/didYouMean.ts';
import { Fault } from '../../protocol/fault.ts';
import { analyseNode, lintGraph, lintNeeds } from './analysis.ts';
import { changeParams } from './liveParams.ts';
import type { GraphDocument, GraphFault } from './document.ts';
import { graphSchema, nodeSchema, createGraphFault, faultsBelow, invalidGraph } from './document.ts';
import { createNodes, disposeNodes, type NodePlan, type Step } from './createNodes.ts';
import { type ClientTools, findUnnamed } from './clientTools.ts';
import { type GraphDeclarations, graphDeclarations, lintSources } from './graphDeclarations.ts';
import type { NodeContext } from './node.ts';
import { type ModelNames, readModelNames } from './modelNames.ts';
import type { Registry } from './registry.ts';

/** A compiled graph: its nodes are created, its structure does not change any more. */
export interface Graph extends AsyncDisposable {
  readonly start: string;
  /** Nodes by name. */
  readonly steps: ReadonlyMap<string, Step>;
  /** Changes live parameters of a node. @throws Fault UNKNOWN_NODE, PARAM_NOT_MUTABLE, INVALID_PARAM_VALUE. */
  changeParams(nodeName: string, changes: Readonly<Record<string, unknown>>): Promise<void>;
}

export interface CompileOptions {
  readonly registry: Registry;
  readonly maxNodes: number;
  /** Receives the warnings of the linter; undefined: there are none, for a graph that is a part of another one. */
  readonly warn: ((warning: string) => void) | undefined;
  /** The tools that the client brings; absent: they are not known. */
  readonly clientTools?: ClientTools | undefined;
  /** Creates the context of one node; `defaultModel` is the graph's default model, "" = none. */
  contextFor(nodeName: string, defaultModel: ModelNames): Omit<NodeContext, keyof GraphDeclarations | 'connectedExits'>;
}

// In characters. Every frame of a turn contains a node name.
const maxNodeNameLength = 128;
// A graph may have tens of thousands of exits and parameters, and each wrong one is compared with all names.
const maxFaults = 400;
const validateGraph = createReader(graphSchema);
const validateNode = createReader(nodeSchema);

/**
 * Compiles a graph document: validates all of it, then creates its nodes, then reports lint warnings.
 * @throws Fault GRAPH_COMPILATION_FAILED or INVALID_EXIT_TARGET with all faults in its detail, LIMIT_EXCEEDED, or the
 * fault of a model that cannot be loaded; created nodes are disposed of first.
 */
export async function compile(
  document: unknown,
  { registry, maxNodes, contextFor, warn, clientTools }: CompileOptions,
): Promise<Graph> {
  const names = nodeNamesOf(document);
  // Before validation, which takes time for each node.
  if (names.length > maxNodes)
    throw new Fault('LIMIT_EXCEEDED', `the graph has ${names.length} nodes, and ${maxNodes} are allowed`);
  const longNames = names.filter((name) => name.length > maxNodeNameLength);
  // Each fault of such a node would have its name.
  if (longNames.length > 0) throw invalidGraph(longNames.map(longName));
  const reading = await runChunk(() => validateGraph(document));
  const schemaFaults = reading.ok ? [] : faultsBelow('', reading.errors);
  const graph = reading.ok ? reading.value : readValidParts(document);
  if (!graph) throw invalidGraph(schemaFaults);
  const { plans, faults: nodeFaults } = await runChunk(() => checkDocument(graph, names, registry));
  const declarations = graphDeclarations(plans, plans.size === names.length);
  const toolFaults = findUnnamed(clientTools, declarations.toolNames()).map((message) => createGraphFault('', message));
  const faults = [...schemaFaults, ...nodeFaults, ...toolFaults];
  const contextOf = (name: string): NodeContext => ({
    ...contextFor(name, graph.default_model_name),
    connectedExits: plans.get(name)?.connectedExits ?? [],
    ...declarations,
    clientTools,
  });
  const steps = await createNodes(plans, contextOf, faults);
  const analysed = () =>
    new Map(
      [...plans].map(([name, plan]) => [name, analyseNode(name, plan, plan.type.effects(plan.params, plan.exits))]),
    );
  const lint = () => [...lintGraph(graph.start_node, analysed()), ...lintNeeds(plans), ...lintSources(plans)];
  if (warn) await runChunk(() => lint().forEach(warn));
  return {
    start: graph.start_node,
    steps,
    async changeParams(nodeName, changes) {
      const step = steps.get(nodeName);
      if (!step)
        throw new Fault('UNKNOWN_NODE', `the graph has no node "${nodeName}"${didYouMean(nodeName, steps.keys())}`);
      const changed = { ...step, ...(await changeParams(step, changes, nodeName)) };
      steps.set(nodeName, changed);
      plans.set(nodeName, changed);
    },
    [Symbol.asyncDispose]: () => disposeNodes(steps),
  };
}

/** The valid parts of a graph with faults, to find those of its other parts; undefined: no nodes, or no such model. */
function readValidParts(document: unknown): GraphDocument | undefined {
  if (!isObject(document) || !isObject(document['nodes'])) return undefined;
  const { start_node: start } = document;
  const model = readModelNames(document['default_model_name'] ?? '');
  if (!model.ok) return undefined;
  const nodes = Object.entries(document['nodes']).flatMap(([name, node]) => {
    const reading = validateNode(knownMembers(node));
    return reading.ok ? [[name, reading.value] as const] : [];
  });
  // Of a start node that has a fault already, no other one is reported.
  const start_node = typeof start === 'string' ? start : (nodeNamesOf(document)[0] ?? '');
  return { description: '', default_model_name: model.value, start_node, nodes: Object.fromEntries(nodes) };
}

const longName = (name: string): GraphFault =>
  createGraphFault(
    `/nodes${escapePointerToken(name)}`,
    `is a name of ${name.length} characters, and ${maxNodeNameLength} are allowed`,
  );

// Of a node with an unknown member the others are checked.
function knownMembers(node: unknown): unknown {
  if (!isObject(node)) return node;
  return Object.fromEntries(Object.entries(node).filter(([name]) => Object.hasOwn(nodeSchema.properties, name)));
}

function nodeNamesOf(document: unknown): readonly string[] {
  return isObject(document) && isObject(document['nodes']) ? Object.keys(document['nodes']) : [];
}

/** Reads the nodes of a graph: the valid ones, and the faults of the others. */
export function checkDocument(
  graph: GraphDocument,
  names: readonly string[],
  registry: Registry,
): { plans: Map<string, NodePlan>; faults: GraphFault[] } {
  const plans = new Map<string, NodePlan>();
  const faults: GraphFault[] = [];
  if (!names.includes(graph.start_node))
    faults.push(createGraphFault('/start_node', unknownTarget(graph.start_node, names)));
  for (const [name, { type: typeName, params, exits }] of Object.entries(graph.nodes)) {
    if (faults.length >= maxFaults) break;
    const pointer = `/nodes${escapePointerToken(name)}`;
    if (name === '') faults.push(createGraphFault('/nodes', 'has a node without a name, and "" ends a turn; name it'));
    const type = registry.get(typeName);
    if (!type) {
      const known = [...registry.keys()];
      const message = `is no node type: "${typeName}" (there are ${known.join(', ')})${didYouMean(typeName, known)}`;
      faults.push(createGraphFault(`${pointer}/type`, message));
      continue;
    }
    const reading = type.read(params);
    if (!reading.ok) faults.push(...faultsBelow(`${pointer}/params`, reading.errors));
    const connectedExits = Object.keys(exits);
    const known = reading.ok ? type.exits(reading.value, connectedExits) : type.fixedExits;
    for (const fault of exitFaults(exits, { type: type.type, known, names }, `${pointer}/exits`))
      if (faults.push(fault) >= maxFaults) break;
    if (reading.ok && known) {
      // An exit with the target "" is the same as an absent one: it ends the turn.
      const targets = new Map(Object.entries(exits).filter(([, target]) => target !== ''));
      plans.set(name, { type, rawParams: params, params: reading.value, exits: known, connectedExits, targets });
    }
  }
  return { plans, faults };
}

// Without valid parameters the exits of some types are not known: then only their targets are checked.
function* exitFaults(
  exits: Readonly<Record<string, string>>,
  { type, known, names }: { type: string; known: readonly string[] | undefined; names: readonly string[] },
  pointer: string,
): Generator<GraphFault> {
  for (const [exit, target] of Object.entries(exits)) {
    const exitPointer = pointer + escapePointerToken(exit);
    if (known?.includes(exit) === false) {
      const message = `is no exit of ${type} (it has ${listNames(known)})${didYouMean(exit, known)}`;
      yield createGraphFault(exitPointer, message);
    } else if (target !== '' && !names.includes(target))
      yield createGraphFault(exitPointer, unknownTarget(target, names), 'INVALID_EXIT_TARGET');
  }
}

const unknownTarget = (target: string, names: readonly string[]): string =>
  `leads to no node: "${target}"${didYouMean(target, names)}`;
