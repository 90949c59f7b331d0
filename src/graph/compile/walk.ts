import { createYielder } from '../../base/eventLoop.ts';
import { Fault } from '../../protocol/fault.ts';
import type { PathStep } from '../../protocol/frames.gen.ts';
import type { Graph } from './compile.ts';
import type { Turn } from './turn.ts';

export interface WalkedTurn extends Turn {
  /** The node and the exit that the turn goes on after; undefined: it begins with the start node. */
  readonly after: PathStep | undefined;
  /** Whether the turn ends with the node that has just run. */
  readonly isOver: boolean;
  /** Called before a node runs. */
  enter(nodeName: string): void;
  /** Called with the exit that the node has taken. */
  leave(exit: string): void;
}

/**
 * Walks a graph for one turn: runs nodes from the start node on, until an exit without a target.
 * @param path gets each completed step, so that a failed turn has its path, too.
 * @throws Fault MAX_STEPS_EXCEEDED, whatever a node throws, or the signal's reason.
 */
export async function walk(
  graph: Graph,
  turn: WalkedTurn,
  { maxSteps, path }: { readonly maxSteps: number; readonly path: PathStep[] },
): Promise<void> {
  const { after } = turn;
  const start = after ? graph.steps.get(after.nodeName)?.targets.get(after.exit) : graph.start;
  const yieldToOthers = createYielder();
  for (let name = start ?? ''; name !== '';) {
    // Nodes that never wait, such as a loop of canned responses, would block the event loop.
    await yieldToOthers();
    await turn.backpressure();
    turn.signal.throwIfAborted();
    if (path.length === maxSteps)
      throw new Fault(
        'MAX_STEPS_EXCEEDED',
        `the turn took ${maxSteps} steps and would go on to "${name}"; does the graph loop?`,
      );
    turn.enter(name);
    const step = graph.steps.get(name);
    if (!step) throw new TypeError(`compiled graph without node ${name}`);
    const exit = await step.node.run(turn);
    if (!step.exits.includes(exit))
      throw new TypeError(`node ${name} returned "${exit}", which is no exit of ${step.type.type}`);
    path.push({ nodeName: name, exit });
    turn.leave(exit);
    name = turn.isOver ? '' : (step.targets.get(exit) ?? '');
  }
  turn.signal.throwIfAborted();
}
