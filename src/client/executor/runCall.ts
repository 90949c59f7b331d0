import { Fault } from '../../protocol/fault.ts';
import { checks } from '../options.ts';
import type { ToolCall } from '../toolCall.ts';
import { isPlainObject } from '../../protocol/codec/wellFormed.ts';
import type { Awaitable, BeforeDecision, ExecutorOptions, HookContext, ToolEnd, ToolOutcome } from './toolOutcome.ts';
import {
  andThen,
  isPromiseLike,
  orElse,
  describeThrown,
  failureBy,
  failureOf,
  outcomeOf,
  withChanges,
} from './toolOutcome.ts';
import type { RegisteredTool, TurnContext } from './defineTool.ts';
import { raceAbort } from '../../base/abort.ts';

/** A call to run, and functions that are told of its steps. They must not throw. */
export interface CallRun {
  readonly call: ToolCall;
  readonly tool: RegisteredTool | undefined;
  readonly context: TurnContext;
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
  readonly release: () => void;
  /** The call ends before its tool does, because of the signal; what the tool does all the same comes later. */
  readonly onGivenUp: (later: Promise<ToolOutcome>) => void;
  /** Called once, as the last. */
  readonly onEnd: (end: ToolEnd) => void;
}

/** Takes a call through its steps. Never rejects; without promises of hooks and tool it has ended when it returns. */
export async function runCall(run: CallRun): Promise<void> {
  const { call, tool, context, hooks, signal, stopped } = run;
  const wait = <T>(promise: PromiseLike<T>): Promise<T> => raceAbort(Promise.resolve(promise), signal);
  let end: ToolEnd;
  let ending: string | undefined;
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
      const stop = (answer = ''): void => {
        checks.string(answer, 'call.stop.text');
        if (!call.awaitsResult) throw new Fault('NO_RESULTS_AWAITED', notStoppable);
        ending = answer;
      };
      const running = decision.tool.run(decision.arguments, { ...context, signal, call: { ...call, stop } });
      run.release();
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
      if (isPromiseLike(changing)) run.release();
      end = changedEnd(end, isPromiseLike(changing) ? await wait(changing) : changing);
    } catch (thrown) {
      end = failedBy(thrown, signal);
    }
  }
  if (ending !== undefined)
    end = { ...end, result: { ...end.result, control: { ...end.result.control, endTurn: true, answer: ending } } };
  run.onEnd(end);
  run.release();
}

const notStoppable = 'the turn does not wait for this call, so the call cannot end it; set await_results of the node';

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

/** What becomes of a call: its tool runs with these arguments, or it has ended without that. */
type CallDecision = { readonly tool: RegisteredTool; readonly arguments: unknown } | { readonly end: ToolEnd };
type DecisionHooks = Pick<ExecutorOptions, 'before' | 'confirm'>;

// Issues about the shape of arguments. A value that the user did not mention (ungrounded_value) has the right shape, and
// one that is no parameter (unexpected_param) is one that the tool does not read; JSON Schema allows it, too.
const blockingIssues: ReadonlySet<string> = new Set(['missing_param', 'wrong_type', 'not_in_enum']);

/** Decides about a call: is its tool registered, what does `before` say, do the arguments fit, is it confirmed? */
function decideCall(
  call: ToolCall,
  tool: RegisteredTool | undefined,
  hooks: DecisionHooks,
  context: HookContext,
): Awaitable<CallDecision> {
  const { toolName, nodeName, known } = call;
  if (!tool) return failed(`no tool "${toolName}" is registered`);
  // The server has neither checked such a call nor said whether it is consequential.
  if (!known) return failed(`${nodeName} offers no tool "${toolName}"`);
  return andThen(askBefore(call, hooks, context), (decision) => {
    if ('block' in decision) return blocked(decision.block);
    if ('result' in decision) return { end: endOf(outcomeOf(decision.result, toolName, tool.lifespan)) };
    return andThen(checkArguments(call, tool, decision.arguments), (checked) => {
      if (!checked.ok) return failed(`invalid arguments: ${checked.message}`);
      const run = { tool, arguments: checked.value };
      const { confirm } = hooks;
      if (!call.consequential || !confirm) return run;
      const ask = (): Awaitable<CallDecision> =>
        andThen(confirm({ ...call, arguments: decision.arguments }, context), (answer) =>
          answer === true ? run : blocked('it was not confirmed'),
        );
      return orElse(ask, (thrown) => blocked(describeThrown(thrown)));
    });
  });
}

/** The end of a call with this outcome, before `after` has seen it. */
const endOf = (result: ToolOutcome): ToolEnd =>
  result.ok ? { state: 'completed', result } : { state: 'failed', result, error: new Error(result.content) };

const failed = (message: string): CallDecision => ({ end: endOf(failureOf(message)) });

const blocked = (reason: string): CallDecision => ({
  end: { state: 'blocked', result: failureOf(`not run: ${reason}`) },
});

function askBefore(call: ToolCall, { before }: DecisionHooks, context: HookContext): Awaitable<BeforeDecision> {
  if (!before) return { arguments: call.arguments };
  const ask = (): Awaitable<BeforeDecision> =>
    andThen(before(call, context), (decision) => {
      if (decision === undefined) return { arguments: call.arguments };
      if (!isPlainObject(decision)) return { block: misunderstood };
      if ('block' in decision) return { block: String(decision.block) };
      if ('result' in decision) return { result: decision.result };
      return isPlainObject(decision.arguments) ? { arguments: decision.arguments } : { block: misunderstood };
    });
  return orElse(ask, (thrown) => ({ block: describeThrown(thrown) }));
}

const misunderstood =
  '`before` returned something else than nothing, { arguments }, { result } or { block: "the reason" }';

function checkArguments(call: ToolCall, tool: RegisteredTool, args: ToolCall['arguments']) {
  if (tool.check) return tool.check(args);
  // The issues are about the arguments that the model wrote, not about those of `before`.
  const issues = args === call.arguments ? call.issues.filter(({ code }) => blockingIssues.has(code)) : [];
  if (issues.length === 0) return { ok: true as const, value: args };
  return { ok: false as const, message: issues.map(({ message }) => message).join('; ') };
}
