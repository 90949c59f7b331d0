import type { PathStep, TurnComplete } from '../protocol/frames.gen.ts';
import type { ToolEvent } from './executor/toolOutcome.ts';
import { readJson, toFault, type ToolCall, type TurnEvent } from './toolCall.ts';

/** Turn summary of a finished or cancelled turn. */
export interface FinishedTurn {
  /** The whole text of the turn. */
  readonly text: string;
  /** The fields of its answers, in addition to the text; of two with one name the later one. */
  readonly fields: Readonly<Record<string, string | number>>;
  readonly calls: readonly ToolCall[];
  readonly events: readonly TurnEvent[];
  readonly status: 'SUCCESS' | 'CANCELLED';
  /** The visited nodes in order, each with the exit it took. */
  readonly path: readonly PathStep[];
  /** Why the last inference of the turn ended; NONE without one. */
  readonly stopReason: TurnComplete['stopReason'];
  /** Token counts of all inferences: prompt tokens, those of them reused from the KV cache, generated tokens. */
  readonly tokens: { readonly prompt: number; readonly reused: number; readonly generated: number };
  /** Interactions of the dialog that did not fit in the context window of a prompt. */
  readonly interactionsDropped: number;
  /** Interactions that a running summary in a prompt stands for. */
  readonly interactionsSummarised: number;
  /** Milliseconds from the message to the first token of any node; 0 without inference. */
  readonly timeToFirstTokenMs: number;
  /** Milliseconds from the message to the end of the turn. */
  readonly durationMs: number;
  readonly warnings: readonly string[];
  /** Who answers the next message: the graph (AUTO) or people (MANUAL). */
  readonly mode: TurnComplete['mode'];
  /** The models that nodes with a list of names use, and why. */
  readonly modelChoices: TurnComplete['modelChoices'];
  /** What was sent as metadata of results, parsed. */
  readonly resultMetadata: readonly {
    readonly callId: string;
    readonly toolName: string;
    readonly metadata: unknown;
  }[];
  /** Parsed JSON about each inference, of an agent with `enableDiagnostics`; else undefined. */
  readonly debugInfo: unknown;
}

/** One step of a turn, in the order in which they come: what `for await` over a turn gives. */
export type TurnUpdate =
  /** A piece of text; with a source a line of `appendText`, which is no part of the answer. */
  | { readonly type: 'text'; readonly text: string; readonly nodeName: string; readonly source?: 'client' }
  /** A field of an answer, in addition to its text. */
  | { readonly type: 'field'; readonly name: string; readonly value: string | number; readonly nodeName: string }
  /** A tool call was detected. */
  | { readonly type: 'call'; readonly call: ToolCall }
  | ToolEvent
  /** An event of a node. */
  | { readonly type: 'event'; readonly event: TurnEvent }
  /** The turn has ended; the last step. */
  | { readonly type: 'complete'; readonly summary: FinishedTurn };

/** The piece of the answer in a step: none, or one. */
export const answerPiece = (update: TurnUpdate): readonly string[] =>
  update.type === 'text' && update.source === undefined ? [update.text] : [];

/** The summary of a turn from its steps and the last frame. @throws Fault when the turn has failed. */
export function summarize(updates: readonly TurnUpdate[], complete: TurnComplete): FinishedTurn {
  const { status, error, debugInfo } = complete;
  if (status === 'ERROR') {
    throw toFault({ name: error?.name ?? 'INTERNAL', message: error?.message ?? 'the turn failed', detail: debugInfo });
  }
  return {
    text: updates.flatMap(answerPiece).join(''),
    fields: Object.fromEntries(
      updates.flatMap((update) => (update.type === 'field' ? [[update.name, update.value]] : [])),
    ),
    calls: updates.flatMap((update) => (update.type === 'call' ? [update.call] : [])),
    events: updates.flatMap((update) => (update.type === 'event' ? [update.event] : [])),
    status,
    path: complete.path,
    stopReason: complete.stopReason,
    tokens: { prompt: complete.tokensPrompt, reused: complete.tokensReused, generated: complete.tokensGenerated },
    interactionsDropped: complete.interactionsDropped,
    interactionsSummarised: complete.interactionsSummarised,
    timeToFirstTokenMs: complete.timeToFirstTokenMs,
    durationMs: complete.durationMs,
    warnings: complete.warnings,
    mode: complete.mode,
    resultMetadata: complete.resultMetadata.map(({ callId, toolName, metadataJson }) => {
      return { callId, toolName, metadata: readJson(metadataJson, 'metadataJson') };
    }),
    modelChoices: complete.modelChoices,
    debugInfo: debugInfo === '' ? undefined : readJson(debugInfo, 'debugInfo'),
  };
}

/**
 * Async iterable that replays: each iteration yields all items from the first one, waits for new ones, and ends or
 * throws with the stream.
 */
export class ReplayStream<Item> implements AsyncIterable<Item> {
  readonly #items: Item[] = [];
  #ending: { readonly failure?: unknown } | undefined;
  readonly #wake: (() => void)[] = [];

  get items(): readonly Item[] {
    return this.#items;
  }

  /** Appends an item; does nothing after the end. */
  push(item: Item): void {
    if (this.#ending) return;
    this.#items.push(item);
    this.#wakeAll();
  }

  /** Ends the stream, and with it all iterations: with a failure they throw it after the last item. */
  end(ending: { readonly failure?: unknown } = {}): void {
    this.#ending ??= ending;
    this.#wakeAll();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    let yielded = 0;
    for (;;) {
      for (; yielded < this.#items.length; yielded++) yield this.#items[yielded] as Item;
      if (this.#ending && 'failure' in this.#ending) throw this.#ending.failure;
      if (this.#ending) return;
      await new Promise<void>((wake) => this.#wake.push(wake));
    }
  }

  /** The same stream with other items: each item gives none, one or several. */
  map<Mapped>(toItems: (item: Item) => readonly Mapped[]): AsyncIterable<Mapped> {
    const iterate = async function* (items: AsyncIterable<Item>): AsyncGenerator<Mapped, void, undefined> {
      for await (const item of items) yield* toItems(item);
    };
    return { [Symbol.asyncIterator]: () => iterate(this) };
  }

  #wakeAll(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}
