import type { Interface } from 'node:readline/promises';
import type { AgentHandle, SubmittedResult, ToolCall } from '../client/index.ts';
import { Fault } from '../protocol/fault.ts';

/** A call whose result the turn may wait for. */
export type NotifiedCall = Pick<ToolCall, 'callId' | 'turnId' | 'toolName' | 'arguments' | 'awaitsResult'>;

export interface CallAnswer {
  readonly result: Omit<SubmittedResult, 'callId'>;
  /** What the user is told; undefined: the result speaks for itself. */
  readonly note?: string;
}

export interface CallAnswerer {
  /** The result of a call that the turn waits for. The signal is aborted when it no longer waits. */
  answer(call: NotifiedCall, signal: AbortSignal): CallAnswer | Promise<CallAnswer>;
  /** What the user is told of a call whose result the turn does not wait for; undefined: nothing. */
  describeUnused?(call: NotifiedCall): string | undefined;
}

/** A call as the user reads it: its tool, and its arguments as JSON. */
export const describeCall = ({ toolName, arguments: args }: Pick<NotifiedCall, 'toolName' | 'arguments'>): string =>
  `${toolName} ${JSON.stringify(args)}`;

export const failure = (content: string): CallAnswer['result'] => ({ ok: false, content });

/** Lets every call fail: no tools are there. */
export const noTools: CallAnswerer = {
  answer: (call) => ({
    result: failure('no result; give --results FILE'),
    note: `no tools: ${describeCall(call)} fails; give --results FILE`,
  }),
};

export type TurnAnswers = ReturnType<typeof turnAnswers>;

/** Begins to answer the calls of one turn. @param onNote gets what the user has to know; default: prints to stderr. */
export function turnAnswers(agent: AgentHandle, answerer: CallAnswerer, onNote = printNote) {
  let waitEnd = new AbortController();
  const note = (text: string | undefined): void => {
    if (text !== undefined) onNote(text);
  };
  const answer = async (call: NotifiedCall): Promise<void> => {
    const { callId, turnId, toolName } = call;
    const { signal } = waitEnd;
    const given = await answerer.answer(call, signal);
    if (signal.aborted) return;
    note(given.note);
    try {
      await agent.submitToolResults([{ callId, ...given.result }], { turnId });
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      // When the connection drops, the turn says so.
      if (error.name !== 'CONNECTION_DROPPED') note(`the result of ${toolName} was not used: ${error.message}`);
    }
  };
  return {
    /** Answers a call that the turn waits for. */
    add(call: NotifiedCall): void {
      if (call.awaitsResult) void answer(call);
      else note(answerer.describeUnused?.(call));
    },
    /** The turn no longer waits for the calls so far: it goes on, or has ended. */
    endWait(): void {
      waitEnd.abort();
      waitEnd = new AbortController();
    },
  };
}

const printNote = (note: string): void => void process.stderr.write(`-- ${note}\n`);

const usage = 'type the result as text or JSON; an empty line is "ok", and !reason a failed call';

/** Asks for the result of each call in the terminal, one after the other. */
export function terminalAnswerer(input: Interface): CallAnswerer {
  const closed = new AbortController();
  input.once('close', () => closed.abort());
  let last: Promise<unknown> = Promise.resolve();
  let isExplained = false;
  const ask = async (call: NotifiedCall, signal: AbortSignal): Promise<CallAnswer> => {
    const none = { result: failure('no result was given'), note: `no result was given for ${describeCall(call)}` };
    if (signal.aborted) return none;
    if (!isExplained) process.stderr.write(`-- ${usage}\n`);
    isExplained = true;
    // What is printed next does not belong to the question.
    const endLine = (): boolean => process.stderr.write('\n');
    signal.addEventListener('abort', endLine, { once: true });
    try {
      return { result: readResult(await input.question(`result of ${describeCall(call)}: `, { signal })) };
    } catch (error) {
      if (!signal.aborted) throw error;
      return none;
    } finally {
      signal.removeEventListener('abort', endLine);
    }
  };
  return {
    answer(call, waitEnd) {
      const asked = last.then(() => ask(call, AbortSignal.any([waitEnd, closed.signal])));
      last = asked;
      return asked;
    },
  };
}

function readResult(line: string): CallAnswer['result'] {
  const text = line.trim();
  if (text.startsWith('!')) return failure(text.slice(1).trim());
  return { ok: true, content: text === '' ? 'ok' : text };
}
