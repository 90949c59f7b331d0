import type { InferenceSchedule, Pace } from '../../inference/contract/pace.ts';
import type { Dialog } from '../../chat/dialog.ts';
import type { PathStep, ServerFrameBodies, TurnComplete } from '../../protocol/frames.gen.ts';
import type { AgentState } from './agentState.ts';
import type { Call, Exchange } from '../compile/turn.ts';
import type { Insight } from '../../chat/tools/validate/callIssues.ts';

/** Sends a frame of a turn; frames are sent in the order of the calls. */
export type Emit = <K extends 'answerText' | 'answerField' | 'toolCallNotification' | 'nodeEvent' | 'turnComplete'>(
  body: K,
  frame: ServerFrameBodies[K],
) => void;

export interface TurnOutcome {
  readonly summary: TurnComplete;
  readonly calls: readonly Call[];
  readonly insights: readonly Insight[];
}

/** Where a turn goes on that has its calls from an earlier request. */
export interface TurnContinuation {
  /** What prompts show after the user's message. */
  readonly exchanges: readonly Exchange[];
  /** The node whose calls have their results, and its exit that the turn takes; absent: it begins with the start node. */
  readonly after?: PathStep;
}

export interface TurnOptions extends InferenceSchedule {
  readonly agentId: number;
  readonly turnId: number;
  readonly message: string;
  /** Of the message; those of the agent are in its state. */
  readonly variables: Readonly<Record<string, string>>;
  /** The state of the agent; its mode may change during the turn. */
  readonly state: Pick<AgentState, 'mode' | 'variables' | 'pending' | 'summaries'>;
  readonly dialog: Dialog;
  /** For the turn summary. */
  readonly modelChoices: TurnComplete['modelChoices'];
  readonly signal: AbortSignal;
  readonly diagnostics: boolean;
  /** Paused while the turn waits for results, or its session is paused. */
  readonly timeout?: TurnTimeout;
  readonly emit: Emit;
  /** Sends a frame that comes after the turn. Absent: there are none. */
  readonly emitLater?: Emit | undefined;
  /** Counts what the turn keeps: answers and results. @throws Fault LIMIT_EXCEEDED; absent: nothing is counted. */
  readonly keep?: (part: unknown) => void;
  /** Backpressure of the client: undefined while it keeps up, else resolves when more may be sent. */
  readonly backpressure: () => Promise<void> | undefined;
  /** Absent: the turn begins with the user's message. */
  readonly continuation?: TurnContinuation | undefined;
  /** Whether the turn ends with the node that has sent calls, whatever comes after it. Default false. */
  readonly endsWithCalls?: boolean;
  /** Called when the turn has ended, before its last frames. */
  readonly onEnd?: (outcome: TurnOutcome) => void;
}

export type TurnTimeout = ReturnType<typeof turnTimeout>;

/** The timeout of a turn, from now on. Time in which the turn waits for its client, or its session is paused, does not count. */
export function turnTimeout(timeoutMs: number, onTimeout: () => void, pace?: Pace) {
  const turn = {};
  /** Why it is paused. */
  const pauses = new Set<object>();
  let remainingMs = timeoutMs;
  let startedMs = 0;
  let timer: NodeJS.Timeout | undefined;
  /** Pauses it for a reason, until it is resumed for each one. */
  const pause = (reason: object = turn): void => {
    pauses.add(reason);
    if (timer === undefined) return;
    clearTimeout(timer);
    timer = undefined;
    remainingMs -= performance.now() - startedMs;
  };
  const resume = (reason: object = turn): void => {
    pauses.delete(reason);
    if (pauses.size > 0 || timer !== undefined) return;
    startedMs = performance.now();
    timer = setTimeout(onTimeout, Math.max(0, remainingMs));
  };
  resume();
  const follow = (): void => (pace?.limits.paused ? pause(pace) : resume(pace));
  const stopListening = pace?.onChange(follow);
  if (pace) follow();
  const dispose = (): void => {
    stopListening?.();
    pause();
  };
  return { pause, resume, [Symbol.dispose]: dispose };
}
