import { Fault } from '../../protocol/fault.ts';
import { graphFaultsIn } from '../../graph/compile/document.ts';
import type { ModelNames } from '../../graph/compile/modelNames.ts';
import { InvalidParams } from '../../graph/compile/node.ts';
import { describePointer } from '../../base/jsonPointer.ts';
import { ApiError } from './apiError.ts';
import type { Message } from '../../chat/dialog.ts';
import type { PathStep } from '../../protocol/frames.gen.ts';
import type { ConversationPart } from './messages.ts';

export interface TurnPlan {
  readonly graph: unknown;
  readonly message: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly earlier: readonly PlannedInteraction[];
  /** What follows the message: calls with their results. */
  readonly parts: readonly ConversationPart[];
  /** The node and its exit that the turn goes on after; undefined: it begins with the start node. */
  readonly after?: PathStep;
  /** The model, or the list, whose layout calls and results have, and the format that the node names; "" = what the model proves. */
  readonly layout: { readonly model: ModelNames; readonly format: string };
  /** How many calls the response may have. */
  readonly maxCalls: number;
  /** Field of the request that a place of the graph comes from: the longest that fits; JSON pointer of the graph by field. */
  readonly fields: Readonly<Record<string, string>>;
}

/** An interaction of the dialog whose prompt may need the layout of a model. */
export interface PlannedInteraction {
  readonly user: string;
  readonly assistant: string;
  /** What prompts show; undefined: user and assistant. */
  readonly parts: readonly ConversationPart[] | undefined;
}

export const textPart = (role: Message['role'], text: string): ConversationPart => ({
  kind: 'text',
  message: { role, text },
});

/** The texts of the assistant among parts, one after the other. */
export const assistantText = (parts: readonly ConversationPart[]): string =>
  parts
    .map((part) => (part.kind === 'calls' ? part.text : part.message.role === 'assistant' ? part.message.text : ''))
    .filter((text) => text !== '')
    .join('\n');

/** An error of the graph of a request as an error of the request's field; returns other errors as they are. */
export function planFault(error: unknown, { fields }: TurnPlan): unknown {
  if (error instanceof InvalidParams) return new ApiError(error.message, { status: 400, param: 'messages' });
  if (!(error instanceof Fault)) return error;
  for (const { code, pointer, message } of graphFaultsIn(error)) {
    const field = Object.entries(fields).find(([, place]) => pointer === place || pointer.startsWith(`${place}/`));
    if (!field) continue;
    const [name, place] = field;
    const param = name + describePointer(pointer.slice(place.length));
    // A model that is not there, for example, has a status of its own.
    const own = ApiError.from(new Fault(code, message));
    // The message begins with the place in the graph.
    const [, reason = own.message] = /^\S+ ([^]*)$/.exec(own.message) ?? [];
    const { status, code: ownCode } = own.status === 500 ? { status: 400, code: 'invalid_value' } : own;
    return new ApiError(`${param} ${reason}`, { status, code: ownCode, param });
  }
  // A graph of the folder is the server's own.
  if (error.name !== 'GRAPH_COMPILATION_FAILED' && error.name !== 'INVALID_EXIT_TARGET') return error;
  const status = Object.keys(fields).length === 0 ? 500 : 400;
  return new ApiError(error.message, { status, param: 'model', code: error.name.toLowerCase() });
}

/** A warning of the graph of a request in the words of its fields. */
export const planWarning = (warning: string, { fields }: TurnPlan): string =>
  fields['model']
    ? warning
        .replace(
          /\bsampling\.(?=max_tokens)|(?<=\bmax_tokens)_per_call\b|^answer\.params\.| or (?:retries|format)$/,
          '',
        )
        .replace(/set retries$/, 'choose another model')
        .replace(/put a ToolCall node in its place, or say in system_prompt/, 'say in a system message')
    : warning;
