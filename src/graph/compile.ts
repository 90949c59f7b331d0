import { pointerToken, reader } from '../schema.ts';
import { didYouMean } from '../spelling.ts';
import { Fault } from '../fault.ts';
import { change, type Changeable } from './change.ts';
import { graphSchema, type GraphDocument } from './document.ts';
import { asGraphFaults, faultAt, refuse, type GraphFault } from './faults.ts';
import type { Supplies } from './node.ts';
import type { RegisteredType, Registry } from './registry.ts';

/** One node of a compiled graph and where its exits lead. */
export interface Step extends Changeable {
  readonly exits: ReadonlyMap<string, string>;
}

/** A compiled graph: its nodes made, its shape frozen. */
export interface Graph extends AsyncDisposable {
  readonly start: string;
  readonly steps: ReadonlyMap<string, Step>;
  /** Changes live parameters of a node. @throws Fault UNKNOWN_NODE, PARAM_NOT_MUTABLE, INVALID_PARAM_VALUE. */
  change(nodeName: string, changes: Readonly<Record<string, unknown>>): Promise<void>;
}

/** What a compilation needs beside the document. */
export interface GraphSupplies {
  readonly registry: Registry;
  /** Supplies for one node; `defaultModel` is the graph's own default. */
  supply(nodeName: string, defaultModel: string): Supplies;
}

interface Plan {
  readonly type: RegisteredType;
  readonly given: Readonly<Record<string, unknown>>;
  readonly params: object;
  readonly exits: ReadonlyMap<string, string>;
}

const readGraph = reader(graphSchema);

/**
 * Makes a graph of a document: checks all of it first, then makes the nodes.
 * @throws Fault GRAPH_COMPILATION_FAILED or INVALID_EXIT_TARGET with all faults in its detail; what was made is released.
 */
export async function compile(document: unknown, { registry, supply }: GraphSupplies): Promise<Graph> {
  const reading = readGraph(document);
  if (!reading.ok) throw refuse(reading.refusals.map(({ pointer, message }) => faultAt(pointer, message)));
  const { plans, faults } = check(reading.value, registry);
  if (faults.length > 0) throw refuse(faults);
  const steps = await makeNodes(plans, (name) => supply(name, reading.value.default_model_name));
  return {
    start: reading.value.start_node,
    steps,
    async change(nodeName, changes) {
      const step = steps.get(nodeName);
      if (!step)
        throw new Fault('UNKNOWN_NODE', `the graph has no node "${nodeName}"${didYouMean(nodeName, steps.keys())}`);
      steps.set(nodeName, { ...step, given: await change(step, changes, nodeName) });
    },
    [Symbol.asyncDispose]: () => release(steps),
  };
}

function check(graph: GraphDocument, registry: Registry): { plans: Map<string, Plan>; faults: GraphFault[] } {
  const plans = new Map<string, Plan>();
  const faults: GraphFault[] = [];
  const names = Object.keys(graph.nodes);
  if (!names.includes(graph.start_node)) {
    faults.push(faultAt('/start_node', leadsNowhere(graph.start_node, names)));
  }
  for (const [name, { type: typeName, params, exits }] of Object.entries(graph.nodes)) {
    const pointer = `/nodes${pointerToken(name)}`;
    const type = registry.get(typeName);
    if (!type) {
      const known = [...registry.keys()];
      const message = `is no node type: "${typeName}" (there are ${known.join(', ')})${didYouMean(typeName, known)}`;
      faults.push(faultAt(`${pointer}/type`, message));
      continue;
    }
    const reading = type.read(params);
    if (!reading.ok) {
      faults.push(
        ...reading.refusals.map((refusal) => faultAt(`${pointer}/params${refusal.pointer}`, refusal.message)),
      );
    }
    faults.push(...exitFaults(exits, type, names, `${pointer}/exits`));
    if (reading.ok)
      plans.set(name, { type, given: params, params: reading.value, exits: new Map(Object.entries(exits)) });
  }
  return { plans, faults };
}

function* exitFaults(
  exits: Readonly<Record<string, string>>,
  type: RegisteredType,
  names: readonly string[],
  pointer: string,
): Generator<GraphFault> {
  for (const [exit, target] of Object.entries(exits)) {
    const at = pointer + pointerToken(exit);
    if (!type.exits.includes(exit)) {
      const known = type.exits.map((name) => `"${name}"`).join(', ');
      yield faultAt(at, `is no exit of ${type.type} (it has ${known})${didYouMean(exit, type.exits)}`);
    } else if (target !== '' && !names.includes(target)) {
      yield faultAt(at, leadsNowhere(target, names), 'INVALID_EXIT_TARGET');
    }
  }
}

const leadsNowhere = (target: string, names: readonly string[]): string =>
  `leads to no node: "${target}"${didYouMean(target, names)}`;

async function makeNodes(
  plans: ReadonlyMap<string, Plan>,
  supply: (nodeName: string) => Supplies,
): Promise<Map<string, Step>> {
  const steps = new Map<string, Step>();
  const faults: GraphFault[] = [];
  try {
    for (const [name, { type, given, params, exits }] of plans) {
      try {
        steps.set(name, { node: await type.create(params, supply(name)), type, given, exits });
      } catch (error) {
        faults.push(...asGraphFaults(error, `/nodes${pointerToken(name)}`));
      }
    }
    if (faults.length > 0) throw refuse(faults);
    return steps;
  } catch (error) {
    await release(steps);
    throw error;
  }
}

async function release(steps: ReadonlyMap<string, Step>): Promise<void> {
  for (const { node } of steps.values()) await node[Symbol.asyncDispose]?.();
}
