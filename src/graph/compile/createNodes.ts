import { runChunk } from '../../base/eventLoop.ts';
import { escapePointerToken } from '../../base/jsonPointer.ts';
import { toGraphFaults, invalidGraph, type GraphFault } from './document.ts';
import type { Node, NodeContext } from './node.ts';
import type { NodeParams, RegisteredType } from './registry.ts';

export interface NodePlan {
  readonly type: RegisteredType;
  /** Parameters as in the document or after the last change, without defaults. */
  readonly rawParams: Readonly<Record<string, unknown>>;
  /** Parameters with defaults. */
  readonly params: NodeParams;
  readonly exits: readonly string[];
  /** The exits that the graph names, those that end the turn included. */
  readonly connectedExits: readonly string[];
  /** Target node of each exit; an absent exit ends the turn. */
  readonly targets: ReadonlyMap<string, string>;
}

export interface Step extends NodePlan {
  readonly node: Node;
}

/**
 * Creates the nodes of a graph concurrently. A barrier delays model loads until every node has checked its parameters:
 * so all faults of a graph are reported together, and before a load that may take minutes.
 * @param knownFaults faults of the graph that were found before.
 * @throws Fault with all faults, or the first other error of a node; created nodes are disposed of first.
 */
export async function createNodes(
  plans: ReadonlyMap<string, NodePlan>,
  contextFor: (nodeName: string) => NodeContext,
  knownFaults: readonly GraphFault[],
): Promise<Map<string, Step>> {
  const faults = [...knownFaults];
  const barrier = modelLoadBarrier(plans.size, () => faults.length > 0);
  const creations = [...plans].map(async ([name, plan]) => {
    try {
      const context = withBarrier(contextFor(name), barrier);
      const node = await runChunk(() => plan.type.create(plan.params, context));
      return [name, { ...plan, node }] as const;
    } catch (error) {
      faults.push(...toGraphFaults(error, `/nodes${escapePointerToken(name)}`));
      throw error;
    } finally {
      barrier.arrive(name);
    }
  });
  const results = await Promise.allSettled(creations);
  const steps = new Map(results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])));
  if (faults.length === 0 && steps.size === plans.size) return steps;
  await disposeNodes(steps);
  if (faults.length > 0) throw invalidGraph(faults);
  throw results.find((result) => result.status === 'rejected')?.reason;
}

/** Disposes of nodes, one after the other. */
export async function disposeNodes(steps: ReadonlyMap<string, Step>): Promise<void> {
  for (const { node } of steps.values()) await node[Symbol.asyncDispose]?.();
}

const withBarrier = (context: NodeContext, barrier: ReturnType<typeof modelLoadBarrier>): NodeContext => ({
  ...context,
  async model(names, purpose) {
    // Before the barrier: a name that is not known is reported with the faults of the other nodes.
    context.checkModel?.(names, purpose);
    await barrier.wait(context.nodeName);
    return context.model(names, purpose);
  },
  retriever: (storage, matching) =>
    context.retriever(storage, { ...matching, beforeLoad: () => barrier.wait(context.nodeName) }),
});

/** Barrier before model loads: opens when every node has asked for a model or finished; rejects if there are faults then. */
function modelLoadBarrier(expected: number, hasFaults: () => boolean) {
  const arrived = new Set<string>();
  let open: (isOpen: boolean) => void = () => undefined;
  const opened = new Promise<boolean>((resolve) => (open = resolve));
  /** Records that a node has reached the barrier, or has finished without it. */
  const arrive = (name: string): void => {
    arrived.add(name);
    if (arrived.size >= expected) open(!hasFaults());
  };
  /** Records a node, and waits for all others. @throws Error if there are faults. */
  const wait = async (name: string): Promise<void> => {
    arrive(name);
    if (!(await opened)) throw new Error('another node has invalid parameters');
  };
  return { arrive, wait };
}
