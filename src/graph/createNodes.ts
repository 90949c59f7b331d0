import { escapePointerToken } from '../jsonPointer.ts';
import { toGraphFaults, invalidGraph, type GraphFault } from './faults.ts';
import type { Node, NodeContext } from './node.ts';
import type { RegisteredType } from './registry.ts';

/** A node that is to be made: its parameters have passed their schema. */
export interface NodePlan {
  readonly type: RegisteredType;
  /** The parameters as they were given, without defaults. */
  readonly rawParams: Readonly<Record<string, unknown>>;
  readonly params: object;
  readonly exits: ReadonlyMap<string, string>;
}

/**
 * Makes the nodes of a graph, all at once. No model is loaded before every node has looked at its parameters, so that
 * all that is wrong with a graph is known at once and soon.
 * @param faults what is known to be wrong already.
 * @throws Fault with all faults; what was made is disposed of.
 */
export async function createNodes(
  plans: ReadonlyMap<string, NodePlan>,
  contextFor: (nodeName: string) => NodeContext,
  faults: readonly GraphFault[],
): Promise<ReadonlyMap<string, Node>> {
  const allFaults = [...faults];
  const barrier = new ModelLoadBarrier(plans.size, () => allFaults.length > 0);
  const making = [...plans].map(async ([name, { type, params }]) => {
    try {
      return [name, await type.create(params, withBarrier(contextFor(name), barrier))] as const;
    } catch (error) {
      allFaults.push(...toGraphFaults(error, `/nodes${escapePointerToken(name)}`));
      throw error;
    } finally {
      barrier.arrive(name);
    }
  });
  const results = await Promise.allSettled(making);
  const made = new Map(results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])));
  if (allFaults.length === 0 && made.size === plans.size) return made;
  await disposeNodes(made);
  if (allFaults.length > 0) throw invalidGraph(allFaults);
  throw results.find((result) => result.status === 'rejected')?.reason;
}

/** Disposes of nodes. */
export async function disposeNodes(nodes: ReadonlyMap<string, Node>): Promise<void> {
  for (const node of nodes.values()) await node[Symbol.asyncDispose]?.();
}

const withBarrier = (context: NodeContext, gate: ModelLoadBarrier): NodeContext => ({
  ...context,
  async model(name) {
    await gate.wait(context.nodeName);
    return context.model(name);
  },
});

/** Where nodes wait until all of them have come so far; it stays closed when something is wrong by then. */
class ModelLoadBarrier {
  /** What those who wait get when the gate stays closed. */
  readonly closedError = new Error('another node was refused');
  readonly #arrived = new Set<string>();
  readonly #expected: number;
  readonly #hasFaults: () => boolean;
  readonly #opened: Promise<void>;
  #open: () => void = () => undefined;
  #close: (reason: Error) => void = () => undefined;

  constructor(expected: number, refused: () => boolean) {
    this.#expected = expected;
    this.#hasFaults = refused;
    this.#opened = new Promise((resolve, reject) => {
      this.#open = resolve;
      this.#close = reject;
    });
    // Perhaps nobody waits.
    this.#opened.catch(() => undefined);
  }

  /** Says that a node has come so far, or has ended before. */
  arrive(name: string): void {
    this.#arrived.add(name);
    if (this.#arrived.size < this.#expected) return;
    if (this.#hasFaults()) this.#close(this.closedError);
    else this.#open();
  }

  wait(name: string): Promise<void> {
    this.arrive(name);
    return this.#opened;
  }
}
