import type { Dialog, Interaction, PendingCall } from '../../chat/dialog.ts';
import { Fault, truncateMessage } from '../../protocol/fault.ts';
import type { PathStep, ResultMetadata, ToolResult, TurnComplete } from '../../protocol/frames.gen.ts';
import type { Graph } from '../compile/compile.ts';
import { walk, type WalkedTurn } from '../compile/walk.ts';
import { untilAborted } from '../../base/abort.ts';
import type { InferenceSchedule } from '../../inference/contract/pace.ts';
import {
  type BackgroundRun,
  type KnowledgeBlock,
  withBlock,
  type Call,
  type CallDelivery,
  type CallResult,
  type Exchange,
  type HeldFields,
  type InferenceRecord,
  type Summaries,
  type ToolSelection,
} from '../compile/turn.ts';
import { splitToFrames } from '../../protocol/frameSize.ts';
import { type JsonValue, stringifyJson } from '../../chat/json/value.ts';
import type { Insight } from '../../chat/tools/validate/callIssues.ts';
import type { BackgroundWork } from './background.ts';
import { createCallNotification, summarizeTurn } from './turnFrames.ts';
import { dialogResults, renderSpoken } from './history.ts';
import { PendingResults } from './pendingResults.ts';
import { textFrames, TurnAnswer } from './turnAnswer.ts';
import type { TurnOptions } from './turnOptions.ts';

/** A running turn: sends the output of its nodes as frames, and collects the turn summary and the interaction. */
export class RunningTurn implements WalkedTurn {
  readonly message: string;
  readonly dialog: Dialog;
  readonly summaries: Summaries;
  readonly variables: Readonly<Record<string, string>>;
  readonly #laterWork = new Map<string, BackgroundWork>();
  readonly signal: AbortSignal;
  readonly diagnostics: boolean;
  readonly schedule: InferenceSchedule;
  readonly calls: Call[] = [];
  readonly insights: Insight[] = [];
  pending: readonly PendingCall[];
  readonly exchanges: Exchange[];
  readonly visited: string[] = [];
  readonly after: PathStep | undefined;
  readonly continuesAfter: string;
  readonly fields: ReadonlyMap<string, JsonValue>;
  selection: ToolSelection | undefined;
  route = '';
  knowledge: readonly KnowledgeBlock[] = [];
  readonly #options: TurnOptions;
  readonly #ids: Pick<TurnOptions, 'agentId' | 'turnId'>;
  readonly #startMs = performance.now();
  readonly #answer: TurnAnswer;
  readonly #inferences: (InferenceRecord & { readonly nodeName: string })[] = [];
  readonly #pendingResults: PendingResults;
  readonly #warnings = new Set<string>();
  #nodeName = '';
  #nodeStartMs = 0;
  #spoken: (() => string) | undefined;
  #firstTokenMs = 0;
  readonly #metadata: ResultMetadata[] = [];
  #hasSentCalls = false;
  /** The answer with which a result has ended the turn. */
  #ending: string | undefined;
  /** Whether the dialog has the message already. */
  #isRecorded = false;
  #isForgotten = false;
  // Nodes whose pending call is one of this turn.
  readonly #newlyPending = new Set<string>();
  // Nodes whose pending call from before has ended.
  readonly #noLongerPending = new Set<string>();
  // Whether something was asked or settled, so that a yes means no older question.
  #isAnotherAsked = false;

  constructor(options: TurnOptions) {
    this.#options = options;
    const { agentId, turnId, message, dialog, variables, state, signal, diagnostics, priority, pace } = options;
    this.#ids = { agentId, turnId };
    this.exchanges = [...(options.continuation?.exchanges ?? [])];
    this.after = options.continuation?.after;
    this.continuesAfter = this.after?.nodeName ?? '';
    this.message = message;
    this.dialog = dialog;
    this.pending = state.pending;
    this.summaries = state.summaries;
    this.variables = { ...state.variables, ...variables };
    this.signal = signal;
    this.diagnostics = diagnostics;
    this.schedule = { ...(priority && { priority }), ...(pace && { pace }) };
    this.#pendingResults = new PendingResults(turnId);
    this.#answer = new TurnAnswer(options.emit, this.#ids);
    this.fields = this.#answer.fields;
  }

  get mode(): 'AUTO' | 'MANUAL' {
    return this.#options.state.mode;
  }

  get inferences(): number {
    return this.#inferences.length;
  }

  get isOver(): boolean {
    return this.#ending !== undefined || (this.#hasSentCalls && this.#options.endsWithCalls === true);
  }

  get answer(): string {
    return this.#answer.text('\n');
  }

  get shownAnswer(): string {
    return this.#answer.text('');
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

  sayField(name: string, value: JsonValue): void {
    this.#options.keep?.(stringifyJson(value));
    this.#answer.sayField(this.#nodeName, name, value);
  }

  setPrompted(prompted: string | undefined): void {
    this.#answer.setPrompted(this.#nodeName, prompted);
  }

  hold(text: string, held: HeldFields = { fields: new Map(), prompted: undefined }): void {
    const replaced = this.#answer.hold(this.#nodeName, text, held);
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

  /** Takes results from the client. @throws Fault as `Agent.submitResults`; then none is taken. */
  submitResults(results: readonly ToolResult[]): void {
    this.#pendingResults.submit(results, () => this.#options.keep?.(results));
    for (const { callId, metadataJson, control } of results) {
      const toolName = this.calls.find(({ id }) => id === callId)?.name ?? '';
      if (metadataJson !== '') this.#metadata.push({ callId, toolName, metadataJson });
      if (control?.endTurn) this.#ending ??= control.answer;
    }
  }

  /** Sends a text of the client in the turn, of whose answer it is no part. */
  notify(text: string): void {
    for (const frame of textFrames(text, 'whole', 'client'))
      this.#options.emit('answerText', { ...this.#ids, nodeName: '', ...frame });
  }

  /** The message, for the dialog before the turn has ended; undefined: it is there already. */
  record(): Interaction | undefined {
    if (this.#isRecorded) return undefined;
    this.#isRecorded = true;
    return { ...this.#opening, assistant: '', mark: 'recorded' };
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

  later(name: string, work: (run: BackgroundRun) => Promise<void>): void {
    const nodeName = this.#nodeName;
    const emitEvent = (event: string, payload: object): void => {
      const { emitLater: emit } = this.#options;
      if (emit) this.#sendEvent(event, payload, { nodeName, emit });
    };
    this.#laterWork.set(name, (run) => work({ ...run, emitEvent }));
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

  setPending(node: string, calls: readonly PendingCall[], isExpired = false): void {
    this.#isAnotherAsked ||= !isExpired;
    this.pending = [...this.pending.filter((each) => each.node !== node), ...calls];
    (calls.length > 0 ? this.#newlyPending : this.#noLongerPending).add(node);
  }

  emitEvent(event: string, payload: object, { always } = { always: false }): void {
    if (always || this.diagnostics) this.#sendEvent(event, payload);
  }

  warn(warning: string): void {
    this.#warnings.add(truncateMessage(warning));
  }

  /** Sends the answer with which a result has ended the turn, else the held one, if there is one. */
  flush(): void {
    if (!this.#ending) return this.#answer.flush();
    this.#answer.release();
    this.say(this.#ending, 'whole');
  }

  /** Ends the answer and sends the turn summary. */
  complete(outcome: Pick<TurnComplete, 'status' | 'error' | 'path'>): void {
    const summary = summarizeTurn({
      ...this.#ids,
      ...outcome,
      inferences: this.#inferences,
      calls: this.calls,
      warnings: [...this.#warnings],
      resultMetadata: this.#metadata,
      mode: this.mode,
      modelChoices: this.#options.modelChoices,
      diagnostics: this.#options.diagnostics,
      timeToFirstTokenMs: this.#firstTokenMs,
      durationMs: this.#elapsedMs,
    });
    this.#options.onEnd?.({ summary, calls: this.calls, insights: this.insights });
    const end = { nodeName: this.#nodeName, text: '', isDelta: false, isFinal: true, source: '' } as const;
    this.#options.emit('answerText', { ...this.#ids, ...end });
    this.#options.emit('turnComplete', summary);
  }

  /** The interaction that the turn adds to the dialog. It is small: it has no calls, and results only if they stay. */
  interaction(ended?: Interaction['mark']): Interaction {
    const mark = this.#isForgotten ? 'forgotten' : ended;
    const { user, ...own } = this.#isRecorded ? { user: '' } : this.#opening;
    const { sent: assistant, prompted } = this.#answer;
    const results = dialogResults(this.exchanges);
    const metadata = this.#metadata.map(({ callId, toolName, metadataJson }) => {
      return { call_id: callId, name: toolName, metadata_json: metadataJson };
    });
    return {
      user,
      assistant,
      ...(prompted !== undefined && { prompted }),
      ...(mark && { mark }),
      ...own,
      ...(this.#spoken && assistant === '' && { spoken: renderSpoken(this.#spoken, (warning) => this.warn(warning)) }),
      ...(results.length > 0 && { results }),
      ...(metadata.length > 0 && { result_metadata: metadata }),
    };
  }

  /** The message and its own variables. */
  get #opening(): Pick<Interaction, 'user' | 'variables'> {
    const { message: user, variables } = this.#options;
    return { user, ...(Object.keys(variables).length > 0 && { variables }) };
  }

  /** The pending calls after the turn, older ones a turn older; none of a turn that is forgotten or ended badly. */
  pendingAfter(ended?: Interaction['mark']): readonly PendingCall[] {
    if (ended !== undefined || this.#isForgotten) {
      return this.#options.state.pending.filter(({ node }) => !this.#noLongerPending.has(node));
    }
    return this.pending.flatMap((call) => {
      if (this.#newlyPending.has(call.node)) return [call];
      // A yes answers what was asked last.
      const isOver = this.#isAnotherAsked && call.missing.length === 0;
      if (!isOver && call.turns_left > 1) return [{ ...call, turns_left: call.turns_left - 1 }];
      const dropped = { tool_name: call.tool_name, reason: isOver ? 'other_call' : 'expired' };
      this.#sendEvent('call_dropped', dropped, { nodeName: call.node });
      return [];
    });
  }

  /** The work to be done after the turn, by its name. */
  workAfter(ended?: Interaction['mark']): ReadonlyMap<string, BackgroundWork> {
    return ended !== undefined || this.#isForgotten ? new Map() : this.#laterWork;
  }

  #sendEvent(eventType: string, payload: object, { nodeName = this.#nodeName, emit = this.#options.emit } = {}): void {
    const pieces = splitToFrames(stringifyJson(payload));
    for (const [index, payloadJson] of pieces.entries()) {
      const part = { payloadJson, part: index + 1, of: pieces.length };
      emit('nodeEvent', { ...this.#ids, nodeName, eventType, ...part, mode: this.mode });
    }
  }

  get #elapsedMs(): number {
    return performance.now() - this.#startMs;
  }
}

export interface WalkOutcome {
  readonly status: TurnComplete['status'];
  readonly mark?: Interaction['mark'];
  /** Why it failed, or why the server cancelled it. */
  readonly error?: Fault;
}

/** Walks the graph for a turn, and sends what is still held. Never rejects. */
export async function runTurn(
  graph: Graph,
  turn: RunningTurn,
  options: { readonly maxSteps: number; readonly path: PathStep[] },
): Promise<WalkOutcome> {
  try {
    await walk(graph, turn, options);
    turn.flush();
    return { status: 'SUCCESS' };
  } catch (thrown) {
    const { signal } = turn;
    const error: unknown = signal.aborted ? signal.reason : thrown;
    if (signal.aborted && !(error instanceof Fault)) return { status: 'CANCELLED', mark: 'cancelled' };
    const fault = Fault.from(error);
    if (fault.name === 'SERVER_SHUTTING_DOWN') return { status: 'CANCELLED', mark: 'cancelled', error: fault };
    return { status: 'ERROR', mark: 'failed', error: fault };
  }
}
