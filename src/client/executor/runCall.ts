import { raceAbort } from '../../base/abort.ts';
import type { ToolCall } from '../toolCall.ts';
import { isPromiseLike } from './awaitable.ts';
import { blocked, decideCall, endOf } from './decideCall.ts';
import type { ExecutorOptions } from './executorOptions.ts';
import type { ToolEnd } from './toolEvent.ts';
import { describeThrown, failureBy, failureOf, outcomeOf, withChanges, type ToolOutcome } from './toolOutcome.ts';
import type { RegisteredTool } from './toolRegistration.ts';

/** A call to run, and functions that are told of its steps. They must not throw. */
export interface CallRun {
  readonly call: ToolCall;
  readonly tool: RegisteredTool | undefined;
  readonly hooks: Pick<ExecutorOptions, 'before' | 'confirm' | 'after'>;
  /** Ends every wait for a hook or for the tool. */
  readonly signal: AbortSignal;
  /** Why the call is not run; undefined: it is decided. */
  readonly stopped: string | undefined;
  /** The tool runs from now on. */
  readonly onStarted: (args: unknown) => void;
  /** The call is blocked; called before the next call is decided. */
  readonly onBlocked: () => void;
  /** The next call may be decided. May be called more than once. */
  readonly leaveGate: () => void;
  /** The call ends before its tool does, because of the signal; what the tool does all the same comes later. */
  readonly onGivenUp: (later: Promise<ToolOutcome>) => void;
  /** Called once, as the last. */
  readonly onEnd: (end: ToolEnd) => void;
}

/** Takes a call through its steps. Never rejects; without promises of hooks and tool it has ended when it returns. */
export async function runCall(run: CallRun): Promise<void> {
  const { call, tool, hooks, signal, stopped } = run;
  const wait = <T>(promise: PromiseLike<T>): Promise<T> => raceAbort(Promise.resolve(promise), signal);
  let end: ToolEnd;
  let unsettled: Promise<ToolOutcome> | undefined;
  try {
    signal.throwIfAborted();
    const deciding = stopped === undefined ? decideCall(call, tool, hooks, { signal }) : blocked(stopped);
    const decision = isPromiseLike(deciding) ? await wait(deciding) : deciding;
    // A hook may have cancelled the turn by itself.
    signal.throwIfAborted();
    if ('end' in decision) end = decision.end;
    else {
      run.onStarted(decision.arguments);
      const running = decision.tool.run(decision.arguments, { signal, call });
      run.leaveGate();
      const { lifespan } = decision.tool;
      const toOutcome = (value: unknown): ToolOutcome => outcomeOf(value, call.toolName, lifespan);
      if (isPromiseLike(running)) {
        unsettled = Promise.resolve(running).then(toOutcome);
        end = endOf(await wait(unsettled));
      } else end = endOf(toOutcome(running));
    }
  } catch (thrown) {
    end = failedBy(thrown, signal);
    if (signal.aborted && unsettled) run.onGivenUp(unsettled.catch(failureBy));
  }
  if (end.state === 'blocked') run.onBlocked();
  if (hooks.after && !signal.aborted) {
    try {
      const changing = hooks.after(call, end.result);
      if (isPromiseLike(changing)) run.leaveGate();
      end = changedEnd(end, isPromiseLike(changing) ? await wait(changing) : changing);
    } catch (thrown) {
      end = failedBy(thrown, signal);
    }
  }
  run.onEnd(end);
  run.leaveGate();
}

function failedBy(thrown: unknown, { aborted, reason }: AbortSignal): ToolEnd {
  if (!aborted) return { state: 'failed', result: failureBy(thrown), error: thrown };
  return { state: 'failed', result: failureOf(`not finished: ${describeThrown(reason)}`), error: reason };
}

function changedEnd(end: ToolEnd, changes: unknown): ToolEnd {
  if (changes === undefined) return end;
  const result = withChanges(end.result, changes);
  if (end.state === 'blocked' || (end.state === 'failed' && !result.ok)) return { ...end, result };
  return endOf(result);
}
