import { createYielder } from '../../base/eventLoop.ts';
import { Fault } from '../../protocol/fault.ts';
import type { PathStep } from '../../protocol/frames.gen.ts';
import type { Graph } from './compile.ts';
import type { Turn } from './turn.ts';

/**
 * Walks a graph for one turn: runs nodes from the start node on, until an exit without a target.
 * @param options `enter` is called with the name of each node before it runs, `leave` with the exit that it took. Each completed step is added to `path`,
 * so that a failed turn has its path, too.
 * @throws Fault MAX_STEPS_EXCEEDED, whatever a node throws, or the signal's reason.
 */
export async function walk(
  graph: Graph,
  turn: Turn,
  {
    maxSteps,
    enter,
    leave,
    isOver,
    after,
    path,
  }: {
    readonly maxSteps: number;
    readonly enter: (nodeName: string) => void;
    readonly leave: (exit: string) => void;
    /** Whether the turn ends with the node that has just run. */
    readonly isOver?: () => boolean;
    /** The node and the exit that the walk goes on after; undefined: it begins with the start node. */
    readonly after?: PathStep | undefined;
    readonly path: PathStep[];
  },
): Promise<void> {
  const start = after ? graph.steps.get(after.nodeName)?.targets.get(after.exit) : graph.start;
  const yieldToOthers = createYielder();
  for (let name = start ?? ''; name !== '';) {
    // Nodes that never wait, such as a loop of canned responses, would block the event loop.
    await yieldToOthers();
    await turn.backpressure();
    turn.signal.throwIfAborted();
    if (path.length === maxSteps) {
      throw new Fault(
        'MAX_STEPS_EXCEEDED',
        `the turn took ${maxSteps} steps and would go on to "${name}"; does the graph loop?`,
      );
    }
    enter(name);
    const step = graph.steps.get(name);
    if (!step) throw new TypeError(`compiled graph without node ${name}`);
    const exit = await step.node.run(turn);
    if (!step.exits.includes(exit)) {
      throw new TypeError(`node ${name} returned "${exit}", which is no exit of ${step.type.type}`);
    }
    path.push({ nodeName: name, exit });
    leave(exit);
    name = isOver?.() === true ? '' : (step.targets.get(exit) ?? '');
  }
  turn.signal.throwIfAborted();
}
