import { truncateMessage } from '../../protocol/fault.ts';
import { isPlainObject } from '../../protocol/codec/wellFormed.ts';
import { parseToolCall, type ToolCall } from '../toolCall.ts';
import { failureOf, type ToolOutcome } from './toolOutcome.ts';

const previousResultsName = 'previous_tool_results';

// Half of what a server accepts by default for all variables of a message (--max-message-bytes).
const maxBytes = 128 * 1024;

interface Entry {
  readonly call: ToolCall;
  /** Undefined while it runs. */
  outcome?: ToolOutcome;
  /** Whether a message has said that it runs. */
  isAnnounced?: boolean;
}

/** Results of calls that no turn has taken: they go with the agent's next message. */
export class PreviousResults {
  #entries: readonly Entry[] = [];

  /** Reserves the place of a call. Returns the function that gives its result. */
  reserve(call: ToolCall): (outcome: ToolOutcome) => void {
    const entry: Entry = { call };
    this.#entries = [...this.#entries, entry];
    return (outcome) => (entry.outcome = outcome);
  }

  /**
   * The variables of a message with the results for it: a JSON list of `{ name, arguments, ok, content }`, in the order of the
   * calls. A variable of the same name that the caller gives replaces them. One that does not fit stays for the message after
   * it, with all that follow. For a call that still runs the message says so, and its result comes with a later one.
   * @returns also a function that keeps the results for the next message, if this one was not sent.
   */
  addTo<Variables extends object | undefined>(
    variables: Variables,
  ): { readonly variables: Variables | Readonly<Record<string, string>>; readonly restore?: () => void } {
    // What is no plain object is refused with the message.
    if (variables !== undefined && !isPlainObject(variables)) return { variables };
    const before = this.#entries;
    const taken: { readonly entry: Entry; readonly json: string }[] = [];
    let bytes = 0;
    for (const entry of before) {
      if (!entry.outcome && entry.isAnnounced) continue;
      const json = toJson(entry);
      bytes += bytesInMessage(json);
      if (bytes > maxBytes) break;
      taken.push({ entry, json });
    }
    if (taken.length === 0) return { variables };
    const announced = taken.flatMap(({ entry }) => (entry.outcome ? [] : [entry]));
    for (const entry of announced) entry.isAnnounced = true;
    const done = new Set(taken.flatMap(({ entry }) => (entry.outcome ? [entry] : [])));
    this.#entries = before.filter((entry) => !done.has(entry));
    const restore = (): void => {
      for (const entry of announced) entry.isAnnounced = false;
      this.#entries = [...before, ...this.#entries.filter((entry) => !before.includes(entry))];
    };
    const list = `[${taken.map(({ json }) => json).join(', ')}]`;
    const { [previousResultsName]: own = list } = variables ?? ({} as Readonly<Record<string, string>>);
    return { variables: { ...variables, [previousResultsName]: own }, restore };
  }

  /** Forgets all results, those of running calls too: the dialog that they belong to is gone. */
  clear(): void {
    this.#entries = [];
  }
}

const stillRunning = failureOf('not finished yet; the result comes with a later message');

function toJson({ call, outcome = stillRunning }: Entry): string {
  const { ok, content } = outcome;
  // Parsed again: a tool may have changed its arguments, even into what JSON cannot express.
  const { arguments: args } = parseToolCall(call);
  const json = JSON.stringify({ name: call.toolName, arguments: args, ok, content });
  const bytes = bytesInMessage(json);
  if (bytes <= maxBytes) return json;
  const why = `the call and its result have ${bytes} bytes, and ${maxBytes} are allowed in a message`;
  return JSON.stringify({ name: truncateMessage(call.toolName), arguments: {}, ok: false, content: why });
}

// A variable is a string in JSON, where the JSON in it is escaped once more. With a separator.
const bytesInMessage = (json: string): number => new TextEncoder().encode(JSON.stringify(json)).length + 2;
