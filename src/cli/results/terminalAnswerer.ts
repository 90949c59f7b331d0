import type { Interface } from 'node:readline/promises';
import { describeCall, failure, type CallAnswer, type CallAnswerer, type NotifiedCall } from './callAnswer.ts';

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
