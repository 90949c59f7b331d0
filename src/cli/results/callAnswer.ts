import type { SubmittedResult, ToolCall } from '../../client/index.ts';

/** A call whose result the turn may wait for. */
export type NotifiedCall = Pick<ToolCall, 'callId' | 'turnId' | 'toolName' | 'arguments' | 'awaitsResult'>;

/** The result that a call gets. */
export interface CallAnswer {
  readonly result: Omit<SubmittedResult, 'callId'>;
  /** What the user is told; undefined: the result speaks for itself. */
  readonly note?: string;
}

/** Gives results to the calls of a turn. */
export interface CallAnswerer {
  /** The result of a call that the turn waits for. The signal is aborted when it no longer waits. */
  answer(call: NotifiedCall, signal: AbortSignal): CallAnswer | Promise<CallAnswer>;
  /** What the user is told of a call whose result the turn does not wait for; undefined: nothing. */
  describeUnused?(call: NotifiedCall): string | undefined;
}

/** A call as the user reads it: its tool, and its arguments as JSON. */
export const describeCall = ({ toolName, arguments: args }: Pick<NotifiedCall, 'toolName' | 'arguments'>): string =>
  `${toolName} ${JSON.stringify(args)}`;

/** A result that says why there is none. */
export const failure = (content: string): CallAnswer['result'] => ({ ok: false, content });

/** Lets every call fail: no tools are there. */
export const noTools: CallAnswerer = {
  answer: (call) => ({
    result: failure('no result; give --results FILE'),
    note: `no tools: ${describeCall(call)} fails; give --results FILE`,
  }),
};
