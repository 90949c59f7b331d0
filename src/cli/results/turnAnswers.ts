import type { AgentHandle } from '../../client/index.ts';
import { Fault } from '../../protocol/fault.ts';
import type { CallAnswerer, NotifiedCall } from './callAnswer.ts';

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
