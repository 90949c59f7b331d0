import type { Interface } from 'node:readline/promises';
import type { AgentHandle, SubmittedResult, ToolCall } from '../client/index.ts';
import { Fault } from '../protocol/fault.ts';

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

/** Answers the calls of one turn. */
export class TurnAnswers {
  readonly #agent: AgentHandle;
  readonly #answerer: CallAnswerer;
  readonly #onNote: (note: string) => void;
  #waitEnd = new AbortController();

  /** @param onNote gets what the user has to know. Default: it is printed to standard error. */
  constructor(agent: AgentHandle, answerer: CallAnswerer, onNote = printNote) {
    this.#agent = agent;
    this.#answerer = answerer;
    this.#onNote = onNote;
  }

  /** Answers a call that the turn waits for. */
  add(call: NotifiedCall): void {
    if (call.awaitsResult) void this.#answer(call);
    else this.#note(this.#answerer.describeUnused?.(call));
  }

  async #answer(call: NotifiedCall): Promise<void> {
    const { callId, turnId, toolName } = call;
    const { signal } = this.#waitEnd;
    const { result, note } = await this.#answerer.answer(call, signal);
    if (signal.aborted) return;
    this.#note(note);
    try {
      await this.#agent.submitToolResults([{ callId, ...result }], { turnId });
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      // When the connection drops, the turn says so.
      if (error.name !== 'CONNECTION_DROPPED') this.#note(`the result of ${toolName} was not used: ${error.message}`);
    }
  }

  /** The turn no longer waits for the calls so far: it goes on, or has ended. */
  endWait(): void {
    this.#waitEnd.abort();
    this.#waitEnd = new AbortController();
  }

  #note(note: string | undefined): void {
    if (note !== undefined) this.#onNote(note);
  }
}

const printNote = (note: string): void => void process.stderr.write(`-- ${note}\n`);

const usage = 'type the result as text or JSON; an empty line is "ok", and !reason a failed call';

/** Asks for the result of each call in the terminal, one after the other. */
export class TerminalAnswerer implements CallAnswerer {
  readonly #input: Interface;
  readonly #closed = new AbortController();
  #last: Promise<unknown> = Promise.resolve();
  #isExplained = false;

  constructor(input: Interface) {
    this.#input = input;
    input.once('close', () => this.#closed.abort());
  }

  answer(call: NotifiedCall, waitEnd: AbortSignal): Promise<CallAnswer> {
    const asked = this.#last.then(() => this.#ask(call, AbortSignal.any([waitEnd, this.#closed.signal])));
    this.#last = asked;
    return asked;
  }

  async #ask(call: NotifiedCall, signal: AbortSignal): Promise<CallAnswer> {
    const none = { result: failure('no result was given'), note: `no result was given for ${describeCall(call)}` };
    if (signal.aborted) return none;
    if (!this.#isExplained) process.stderr.write(`-- ${usage}\n`);
    this.#isExplained = true;
    // What is printed next does not belong to the question.
    const endLine = (): boolean => process.stderr.write('\n');
    signal.addEventListener('abort', endLine, { once: true });
    try {
      return { result: readResult(await this.#input.question(`result of ${describeCall(call)}: `, { signal })) };
    } catch (error) {
      if (!signal.aborted) throw error;
      return none;
    } finally {
      signal.removeEventListener('abort', endLine);
    }
  }
}

function readResult(line: string): CallAnswer['result'] {
  const text = line.trim();
  if (text.startsWith('!')) return failure(text.slice(1).trim());
  return { ok: true, content: text === '' ? 'ok' : text };
}
