import type { Interaction } from '../../chat/dialog.ts';
import { Fault } from '../../protocol/fault.ts';
import type { PathStep, TurnComplete } from '../../protocol/frames.gen.ts';
import type { Graph } from '../compile/compile.ts';
import { walk } from '../compile/walk.ts';
import type { RunningTurn } from './runningTurn.ts';

/** How the walk of a turn ended. */
export interface WalkOutcome {
  readonly status: TurnComplete['status'];
  readonly mark?: Interaction['mark'];
  /** Why it failed, or why the server cancelled it. */
  readonly error?: Fault;
}

/** Walks the graph for a turn, and sends what is still held. Never rejects. */
export async function runTurn(
  graph: Graph,
  turn: RunningTurn,
  { maxSteps, path, signal }: { readonly maxSteps: number; readonly path: PathStep[]; readonly signal: AbortSignal },
): Promise<WalkOutcome> {
  try {
    await walk(graph, turn, {
      maxSteps,
      enter: (name) => turn.enter(name),
      leave: (exit) => turn.leave(exit),
      isOver: () => turn.isOver,
      after: turn.after,
      path,
    });
    turn.flush();
    return { status: 'SUCCESS' };
  } catch (thrown) {
    const error: unknown = signal.aborted ? signal.reason : thrown;
    if (signal.aborted && !(error instanceof Fault)) return { status: 'CANCELLED', mark: 'cancelled' };
    const fault = Fault.from(error);
    if (fault.name === 'SERVER_SHUTTING_DOWN') return { status: 'CANCELLED', mark: 'cancelled', error: fault };
    return { status: 'ERROR', mark: 'failed', error: fault };
  }
}
