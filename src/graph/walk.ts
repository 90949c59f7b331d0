import { setImmediate as breath } from 'node:timers/promises';
import { Fault } from '../fault.ts';
import type { PathStep } from '../frames.gen.ts';
import type { Graph } from './compile.ts';
import type { Turn } from './turn.ts';

const stepsPerYield = 32;

/**
 * Walks a graph for one turn, from its start node until an exit that leads nowhere.
 * @param enter is told the name of each node before it runs.
 * @param path is given each step as it is done, so that a failed turn has one too.
 * @throws Fault MAX_STEPS_EXCEEDED, whatever a node throws, or the signal's reason.
 */
export async function walk(
  graph: Graph,
  turn: Turn,
  { maxSteps, enter, path }: { maxSteps: number; enter: (nodeName: string) => void; path: PathStep[] },
): Promise<void> {
  for (let name = graph.start; name !== '';) {
    // Nodes that wait for nothing would keep everybody else waiting.
    if (path.length % stepsPerYield === stepsPerYield - 1) await breath();
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
    if (!step.type.exits.includes(exit)) {
      throw new TypeError(`node ${name} returned "${exit}", which is no exit of ${step.type.type}`);
    }
    path.push({ nodeName: name, exit });
    name = step.exits.get(exit) ?? '';
  }
  turn.signal.throwIfAborted();
}
