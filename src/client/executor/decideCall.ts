import type { ToolCall } from '../toolCall.ts';
import { isPlainObject } from '../../protocol/codec/wellFormed.ts';
import { andThen, orElse, type Awaitable } from './awaitable.ts';
import type { BeforeDecision, ExecutorOptions, HookContext } from './executorOptions.ts';
import type { ToolEnd } from './toolEvent.ts';
import { describeThrown, failureOf, outcomeOf, type ToolOutcome } from './toolOutcome.ts';
import type { RegisteredTool } from './toolRegistration.ts';

/** What becomes of a call: its tool runs with these arguments, or it has ended without that. */
export type CallDecision = { readonly tool: RegisteredTool; readonly arguments: unknown } | { readonly end: ToolEnd };

type DecisionHooks = Pick<ExecutorOptions, 'before' | 'confirm'>;

// Issues about the shape of arguments. A value that the user did not mention (ungrounded_value) has the right shape, and
// one that is no parameter (unexpected_param) is one that the tool does not read; JSON Schema allows it, too.
const blockingIssues: ReadonlySet<string> = new Set(['missing_param', 'wrong_type', 'not_in_enum']);

/** Decides about a call: is its tool registered, what does `before` say, do the arguments fit, is it confirmed? */
export function decideCall(
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
      const ask = (): Awaitable<boolean> => confirm({ ...call, arguments: decision.arguments }, context);
      return andThen(whyNotConfirmed(ask), (why) => (why === undefined ? run : blocked(why)));
    });
  });
}

/** The end of a call with this outcome, before `after` has seen it. */
export const endOf = (result: ToolOutcome): ToolEnd =>
  result.ok ? { state: 'completed', result } : { state: 'failed', result, error: new Error(result.content) };

const failed = (message: string): CallDecision => ({ end: endOf(failureOf(message)) });

/** The decision that a call is not run, with the reason for the model. */
export const blocked = (reason: string): CallDecision => ({
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

// Why the call is not run; undefined: it is confirmed.
const whyNotConfirmed = (ask: () => Awaitable<boolean>): Awaitable<string | undefined> =>
  orElse(
    () => andThen(ask(), (answer) => (answer === true ? undefined : 'it was not confirmed')),
    (thrown) => describeThrown(thrown),
  );
