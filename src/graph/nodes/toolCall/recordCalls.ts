import type { Message } from '../../../chat/dialog.ts';
import type { CallResult, Exchange, Turn } from '../../compile/turn.ts';
import { type AnsweredCall, resultContent, resultLine, type ToolCallFormat } from '../../../chat/tool.ts';
import { callJson } from '../../../chat/formats/toolText.ts';
import { stringifyJson } from '../../../chat/json/value.ts';
import type { JudgedCall } from './judgeReply.ts';
import type { ToolCallParams } from './toolCallParams.ts';

type Delivery = Pick<ToolCallParams, 'notify_client' | 'await_results' | 'results_timeout_ms'>;

/** A call that stands: one that has its result, or a new one. */
interface CallSlot {
  readonly call: Pick<AnsweredCall, 'id' | 'name' | 'arguments'>;
  readonly result?: CallResult;
  readonly isAwaited: boolean;
}

/**
 * Records the calls of a reply: notifies the client of new ones, and sends events for the others.
 * @returns the calls that stand, in the order of the reply.
 */
export function recordCalls(turn: Turn, calls: readonly JudgedCall[], delivery: Delivery): readonly CallSlot[] {
  const { notify_client: notify, await_results: awaitsResult } = delivery;
  const slots: CallSlot[] = [];
  for (const judged of calls) {
    if ('insight' in judged) turn.recordInsight(judged.insight);
    else if (judged.kind === 'new') {
      const { call, arguments: args } = judged;
      const isAwaited = turn.recordCall(call, { notify, awaitsResult });
      slots.push({ call: { id: call.id, name: call.name, arguments: args }, isAwaited });
    } else {
      const { event, answered } = judged;
      const { id: of, name: tool, arguments: args } = answered;
      turn.emitEvent(event, { tool, arguments: args, of }, { always: true });
      slots.push({ call: answered, result: answered, isAwaited: false });
    }
  }
  return slots;
}

interface CollectOptions extends Delivery {
  /** What the model wrote in addition to the calls. */
  readonly answer: string;
  readonly format: ToolCallFormat;
  readonly nodeName: string;
}

/** Waits for the results of recorded calls and adds them to the turn. @returns the exit of the node. */
export async function collectResults(
  turn: Turn,
  slots: readonly CallSlot[],
  { answer, format, nodeName, await_results, results_timeout_ms: timeoutMs }: CollectOptions,
): Promise<'tool_called' | 'no_results'> {
  const awaited = slots.filter(({ isAwaited }) => isAwaited).map(({ call }) => call);
  const ids = awaited.map(({ id }) => id);
  const results = ids.length > 0 ? await turn.results(ids, timeoutMs) : new Map<string, never>();
  const answered = slots.flatMap(({ call, result = results.get(call.id) }) => (result ? { ...call, ...result } : []));
  if (answered.length > 0) turn.recordExchange(createExchange(answered, answer, format));
  if (!await_results || answered.length === slots.length) return 'tool_called';
  // A call that did not fit in a frame was not sent; the turn has a warning of it.
  const missing = awaited.filter(({ id }) => !results.has(id)).map(({ name }) => name);
  if (missing.length > 0)
    turn.warn(`${nodeName} got no result of ${missing.join(', ')} within ${timeoutMs} ms (results_timeout_ms)`);
  return 'no_results';
}

// Keys of a call where the format has no text of its own for earlier calls.
const plainKeys = { name: 'tool', arguments: 'args' } as const;

/**
 * Answered calls as messages of later prompts: for a chat template as calls and results, for any other in the wording of
 * the format.
 * @param text what the model wrote in addition to the calls.
 */
export function createExchange(calls: readonly AnsweredCall[], text: string, format: ToolCallFormat): Exchange {
  const written = format.renderCalls?.(calls) ?? calls.map((call) => callJson(call, plainKeys)).join('\n');
  const callMessage: Message = {
    role: 'assistant',
    text: text === '' ? written : `${text}\n${written}`,
    toolExchange: {
      kind: 'calls',
      text,
      calls: calls.map(({ id, name, arguments: args }) => ({ id, name, arguments: toPlainObject(args) })),
    },
  };
  const toResultMessage = (call: AnsweredCall): Message => ({
    role: 'user',
    text: format.renderResult?.(call) ?? resultLine(call),
    toolExchange: { kind: 'result', callId: call.id, name: call.name, content: resultContent(call) },
  });
  return { calls, messages: [callMessage, ...calls.map(toResultMessage)] };
}

// Prompts are plain data: they cross to the engine process.
const toPlainObject = (args: AnsweredCall['arguments']): object => JSON.parse(stringifyJson(args)) as object;
