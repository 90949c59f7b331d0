import type { Dialog, Interaction } from '../../chat/dialog.ts';
import { Fault, truncateMessage } from '../../protocol/fault.ts';
import type { PathStep, ToolResult, TurnComplete } from '../../protocol/frames.gen.ts';
import type { Graph } from '../compile/compile.ts';
import { walk, type WalkedTurn } from '../compile/walk.ts';
import { untilAborted } from '../../base/abort.ts';
import type { InferenceSchedule } from '../../inference/contract/pace.ts';
import {
  type KnowledgeBlock,
  withBlock,
  type Call,
  type CallDelivery,
  type CallResult,
  type Exchange,
  type InferenceRecord,
  type ToolSelection,
} from '../compile/turn.ts';
import { splitToFrames } from '../../protocol/frameSize.ts';
import { stringifyJson } from '../../chat/json/value.ts';
import type { Insight } from '../../chat/tools/validate/callIssues.ts';
import { createCallNotification, summarizeTurn } from './turnFrames.ts';
import { toInteraction } from './history.ts';
import { PendingResults } from './pendingResults.ts';
import { TurnAnswer } from './turnAnswer.ts';
import type { TurnOptions } from './turnOptions.ts';

/** A running turn: sends the output of its nodes as frames, and collects the turn summary and the interaction. */
export class RunningTurn implements WalkedTurn {
  readonly message: string;
  readonly dialog: Dialog;
  readonly variables: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly diagnostics: boolean;
  readonly schedule: InferenceSchedule;
  readonly calls: Call[] = [];
  readonly insights: Insight[] = [];
  readonly exchanges: Exchange[];
  readonly visited: string[] = [];
  readonly continuesAfter: string;
  selection: ToolSelection | undefined;
  route = '';
  knowledge: readonly KnowledgeBlock[] = [];
  readonly #options: TurnOptions;
  readonly #startMs = performance.now();
  readonly #answer: TurnAnswer;
  readonly #inferences: (InferenceRecord & { readonly nodeName: string })[] = [];
  readonly #pendingResults: PendingResults;
  readonly #warnings = new Set<string>();
  #nodeName = '';
  #nodeStartMs = 0;
  #spoken: (() => string) | undefined;
  #firstTokenMs = 0;
  #hasSentCalls = false;
  #isForgotten = false;

  constructor(options: TurnOptions) {
    this.#options = options;
    const { message, dialog, variables, signal, diagnostics, priority, pace } = options;
    this.exchanges = [...(options.continuation?.exchanges ?? [])];
    this.continuesAfter = options.continuation?.after?.nodeName ?? '';
    this.message = message;
    this.dialog = dialog;
    this.variables = variables;
    this.signal = signal;
    this.diagnostics = diagnostics;
    this.schedule = { ...(priority && { priority }), ...(pace && { pace }) };
    this.#pendingResults = new PendingResults(options.turnId);
    this.#answer = new TurnAnswer((frame) => options.emit('answerText', { ...this.#ids, ...frame }));
  }

  get inferences(): number {
    return this.#inferences.length;
  }

  get after(): PathStep | undefined {
    return this.#options.continuation?.after;
  }

  get isOver(): boolean {
    return this.#hasSentCalls && this.#options.endsWithCalls === true;
  }

  get answer(): string {
    return this.#answer.text;
  }

  /** Frames name the node from now on. */
  enter(nodeName: string): void {
    this.#nodeName = nodeName;
    this.visited.push(nodeName);
    this.#nodeStartMs = performance.now();
    this.emitEvent('node_started', {});
  }

  leave(exit: string): void {
    this.emitEvent('node_finished', { exit, duration_ms: performance.now() - this.#nodeStartMs });
  }

  backpressure(): Promise<void> | undefined {
    const wait = this.#options.backpressure();
    return wait && untilAborted(wait, this.signal);
  }

  say(text: string, kind: 'delta' | 'whole'): void {
    this.#options.keep?.(text);
    this.#answer.say(this.#nodeName, text, kind);
  }

  hold(text: string): void {
    const replaced = this.#answer.hold(this.#nodeName, text);
    if (replaced !== undefined) this.warn(`${this.#nodeName} replaced the answer that ${replaced} held back`);
  }

  release(): void {
    this.#answer.release();
  }

  recordCall(call: Call, { notify, awaitsResult }: CallDelivery): boolean {
    const callIndex = this.calls.push(call) - 1;
    if (!notify) return false;
    const waits = awaitsResult && this.#options.endsWithCalls !== true;
    const place = { ...this.#ids, nodeName: this.#nodeName, callIndex, awaitsResult: waits };
    const notification = createCallNotification(call, place, (warning) => this.warn(warning));
    if (!notification) return false;
    this.#hasSentCalls = true;
    // Before the frame is sent: the client may answer at once.
    if (waits) this.#pendingResults.expect(call.id);
    this.#options.emit('toolCallNotification', notification);
    return waits;
  }

  async results(callIds: readonly string[], timeoutMs: number): Promise<ReadonlyMap<string, CallResult>> {
    const { timeout } = this.#options;
    timeout?.pause();
    try {
      return await this.#pendingResults.wait(callIds, timeoutMs, this.signal);
    } finally {
      timeout?.resume();
    }
  }

  /** Takes results from the client. @throws Fault NO_RESULTS_AWAITED, LIMIT_EXCEEDED; then none is taken. */
  submitResults(results: readonly ToolResult[]): void {
    this.#pendingResults.submit(results, () => this.#options.keep?.(results));
  }

  recordExchange(exchange: Exchange): void {
    this.exchanges.push(exchange);
  }

  select(selection: ToolSelection): void {
    this.selection = selection;
  }

  setRoute(label: string): void {
    this.route = label;
  }

  recordKnowledge(block: KnowledgeBlock): void {
    this.knowledge = withBlock(this.knowledge, block);
  }

  setSpoken(render: () => string): void {
    this.#spoken = render;
  }

  forget(): void {
    this.#isForgotten = true;
  }

  recordInference(inference: InferenceRecord): void {
    this.#inferences.push({ ...inference, nodeName: this.#nodeName });
    const { firstTokenMs, totalMs } = inference.timings;
    if (this.#firstTokenMs === 0 && firstTokenMs > 0) this.#firstTokenMs = this.#elapsedMs - (totalMs - firstTokenMs);
  }

  recordInsight(insight: Insight): void {
    this.insights.push(insight);
    // The client has call_unread of one that could not be read.
    if (insight.unread === undefined) this.#sendEvent('tool_insight', insight);
  }

  emitEvent(event: string, payload: object, { always } = { always: false }): void {
    if (always || this.diagnostics) this.#sendEvent(event, payload);
  }

  warn(warning: string): void {
    this.#warnings.add(truncateMessage(warning));
  }

  /** Sends the held answer, if there is one. */
  flush(): void {
    this.#answer.flush();
  }

  /** Ends the answer and sends the turn summary. */
  complete(outcome: Pick<TurnComplete, 'status' | 'error' | 'path'>): void {
    const summary = summarizeTurn({
      ...this.#ids,
      ...outcome,
      inferences: this.#inferences,
      calls: this.calls,
      warnings: [...this.#warnings],
      diagnostics: this.#options.diagnostics,
      timeToFirstTokenMs: this.#firstTokenMs,
      durationMs: this.#elapsedMs,
    });
    this.#options.onEnd?.({ summary, calls: this.calls, insights: this.insights });
    this.#options.emit('answerText', {
      ...this.#ids,
      nodeName: this.#nodeName,
      text: '',
      isDelta: false,
      isFinal: true,
    });
    this.#options.emit('turnComplete', summary);
  }

  /** The interaction that the turn adds to the dialog. */
  interaction(ended?: Interaction['mark']): Interaction {
    const mark = this.#isForgotten ? 'forgotten' : ended;
    const { message, variables } = this;
    const warn = (warning: string): void => this.warn(warning);
    const assistant = this.#answer.sent;
    const remains = { user: message, assistant, variables, exchanges: this.exchanges, spoken: this.#spoken };
    return toInteraction({ ...remains, ...(mark && { mark }) }, warn);
  }

  #sendEvent(eventType: string, payload: object): void {
    const pieces = splitToFrames(stringifyJson(payload));
    for (const [index, payloadJson] of pieces.entries()) {
      const part = { part: index + 1, of: pieces.length };
      this.#options.emit('nodeEvent', { ...this.#ids, nodeName: this.#nodeName, eventType, payloadJson, ...part });
    }
  }

  get #ids(): { readonly agentId: number; readonly turnId: number } {
    return { agentId: this.#options.agentId, turnId: this.#options.turnId };
  }

  get #elapsedMs(): number {
    return performance.now() - this.#startMs;
  }
}

/** How the walk of a turn ended. */
interface WalkOutcome {
  readonly status: TurnComplete['status'];
  readonly mark?: Interaction['mark'];
  /** Why it failed, or why the server cancelled it. */
  readonly error?: Fault;
}

/** Walks the graph for a turn, and sends what is still held. Never rejects. */
export async function runTurn(
  graph: Graph,
  turn: RunningTurn,
  { maxSteps, path, signal }: { readonly maxSteps: number; readonly path: PathStep[]; readonly signal: AbortSignal },
): Promise<WalkOutcome> {
  try {
    await walk(graph, turn, { maxSteps, path });
    turn.flush();
    return { status: 'SUCCESS' };
  } catch (thrown) {
    const error: unknown = signal.aborted ? signal.reason : thrown;
    if (signal.aborted && !(error instanceof Fault)) return { status: 'CANCELLED', mark: 'cancelled' };
    const fault = Fault.from(error);
    if (fault.name === 'SERVER_SHUTTING_DOWN') return { status: 'CANCELLED', mark: 'cancelled', error: fault };
    return { status: 'ERROR', mark: 'failed', error: fault };
  }
}
