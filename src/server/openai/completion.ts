import { randomUUID } from 'node:crypto';
import { onAbort } from '../../base/events.ts';
import type { Agent } from '../../graph/agent/agent.ts';
import type { Interaction, Message } from '../../chat/dialog.ts';
import { Fault } from '../../protocol/fault.ts';
import type { ToolCallNotification, TurnComplete } from '../../protocol/frames.gen.ts';
import type { Exchange } from '../../graph/compile/turn.ts';
import { createExchange } from '../../graph/nodes/toolCall/recordCalls.ts';
import { resolveFormat } from '../../graph/nodes/toolCall/toolCallParams.ts';
import { Session, type ServerContext } from '../session/session.ts';
import { turnRecorder } from '../metrics/metrics.ts';
import { planFault, planWarning, type TurnPlan } from './turnPlan.ts';
import type { ConversationPart } from './messages.ts';

/** Receives what a completion brings, while it is generated. */
export interface CompletionOutput {
  text(piece: string): void;
  /** @param index of the call in the response, from 0. */
  call(call: ToolCallNotification, index: number): void;
  /** Undefined while the client keeps up, else resolves when more may be sent. */
  backpressure(): Promise<void> | undefined;
}

export interface CompletionEnd {
  readonly finishReason: 'stop' | 'length' | 'tool_calls';
  readonly tokens: Pick<TurnComplete, 'tokensPrompt' | 'tokensReused' | 'tokensGenerated'>;
  /** What the client should know: of the graph, of the turn and of its calls. */
  readonly warnings: readonly string[];
}

/**
 * Runs one turn of an agent of its own, which is disposed of at the end. Its slot stays with its tokens, so that a request
 * that continues the conversation finds them.
 * @throws ApiError or Fault when it fails, the reason of the signal when that is aborted.
 */
export async function complete(
  context: ServerContext,
  plan: TurnPlan,
  output: CompletionOutput,
  signal: AbortSignal,
): Promise<CompletionEnd> {
  signal.throwIfAborted();
  await using session = new Session(`openai-${randomUUID()}`, context, () => output.backpressure());
  session.assertOpen();
  const unsubscribe = onAbort(signal)(() => void session[Symbol.asyncDispose]());
  try {
    const options = { graph: plan.graph, clientTools: new Map(), isPart: true, defaultModelName: '' };
    const agent = await session.createAgent(options, () => undefined);
    return await runTurn(session, agent, plan, output);
  } catch (error) {
    signal.throwIfAborted();
    throw planFault(error, plan);
  } finally {
    unsubscribe();
  }
}

async function runTurn(session: Session, agent: Agent, plan: TurnPlan, sink: CompletionOutput): Promise<CompletionEnd> {
  const { context, signal } = session;
  const exchanges = await addDialog(session, agent, plan);
  const warnings = [...agent.warnings];
  let calls = 0;
  let lastNode: string | undefined;
  let summary: TurnComplete | undefined;
  const turn = agent.send(plan.message, plan.variables, {
    backpressure: () => sink.backpressure(),
    endsWithCalls: true,
    continuation: { exchanges, ...(plan.after && { after: plan.after }) },
    onEnd: turnRecorder(context.metrics),
    emit: (body, frame) => {
      if (body === 'answerText') {
        const { text, nodeName } = frame as { readonly text: string; readonly nodeName: string };
        if (text === '') return;
        // As in the dialog: texts of different nodes are lines.
        sink.text(lastNode !== undefined && lastNode !== nodeName ? `\n${text}` : text);
        lastNode = nodeName;
      } else if (body === 'toolCallNotification') {
        const call = frame as ToolCallNotification;
        if (calls < plan.maxCalls) sink.call(call, calls++);
        else warnings.push(`a call of ${call.toolName} was left out: parallel_tool_calls is false`);
        warnings.push(...call.issues.map(({ message }) => `${call.toolName}: ${message}`));
      } else if (body === 'turnComplete') summary = frame as TurnComplete;
    },
  });
  context.metrics.add('turngraph_turns_running', {});
  const fault = await turn;
  if (fault) throw fault;
  if (summary?.status !== 'SUCCESS') throw context.closing.aborted ? Fault.from(context.closing.reason) : signal.reason;
  const { stopReason, interactionsDropped: dropped } = summary;
  const cut = dropped > 0 ? [`${dropped} of the oldest turns do not fit into the context, and are left out`] : [];
  return {
    finishReason: calls > 0 ? 'tool_calls' : stopReason === 'LENGTH' ? 'length' : 'stop',
    tokens: summary,
    warnings: [...warnings, ...summary.warnings, ...cut].map((warning) => planWarning(warning, plan)),
  };
}

/** Adds the earlier messages to the dialog. @returns what follows the user's message, in the layout of the model. */
async function addDialog(session: Session, agent: Agent, plan: TurnPlan): Promise<readonly Exchange[]> {
  const { earlier, parts, layout } = plan;
  const hasCalls = [...earlier.flatMap((turn) => turn.parts ?? []), ...parts].some(({ kind }) => kind === 'calls');
  await using lease = hasCalls
    ? await session.pool.lease(await agent.models.resolve(layout.model), { signal: session.signal })
    : undefined;
  const format = lease ? resolveFormat(layout.format, lease, session.context.formats).format : undefined;
  const exchangeOf = (part: ConversationPart): Exchange => {
    if (part.kind === 'text' || !format) return { calls: [], messages: part.kind === 'text' ? [part.message] : [] };
    return createExchange(part.calls, part.text, format);
  };
  const interactions = earlier.map(({ user, assistant, parts: shown }): Interaction => {
    const messages = shown?.flatMap((part): readonly Message[] => exchangeOf(part).messages);
    return { user, assistant, ...(messages && { messages }) };
  });
  agent.append(interactions);
  return parts.map(exchangeOf);
}
