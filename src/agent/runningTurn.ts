import { truncateMessage } from '../fault.ts';
import type { Dialog, Interaction } from '../dialog.ts';
import { untilAborted } from '../abort.ts';
import type { ServerFrameBodies, TurnComplete } from '../frames.gen.ts';
import type { Call, InferenceRecord, Turn } from '../graph/turn.ts';
import { maxPartBytes, takeFitting, splitToFrames, jsonBytes } from '../frameSize.ts';
import type { Insight } from '../tools/validate/insight.ts';
import { summarizeTurn } from './turnSummary.ts';

// Bytes of the two copies of the arguments in one notification; its issues take another part, the other fields are small.
const maxCallBytes = 3 * maxPartBytes;

/** Sends a frame of a turn; frames are sent in the order of the calls. */
export type Emit = <K extends 'answerText' | 'toolCallNotification' | 'nodeEvent' | 'turnComplete'>(
  body: K,
  frame: ServerFrameBodies[K],
) => void;

/** Result of a turn. */
export interface TurnOutcome {
  readonly summary: TurnComplete;
  readonly calls: readonly Call[];
  readonly insights: readonly Insight[];
}

/** Options of a turn. */
export interface TurnOptions {
  readonly agentId: number;
  readonly turnId: number;
  readonly message: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly dialog: Dialog;
  readonly signal: AbortSignal;
  readonly diagnostics: boolean;
  readonly emit: Emit;
  /** Backpressure of the client: undefined while it keeps up, else resolves when more may be sent. */
  readonly backpressure: () => Promise<void> | undefined;
  /** Called when the turn has ended, before its last frames. */
  readonly onEnd?: (outcome: TurnOutcome) => void;
}

/** Text that one node sends or holds back. */
interface NodeText {
  readonly nodeName: string;
  readonly text: string;
}

/** A running turn: sends the output of its nodes as frames, and collects the turn summary and the interaction. */
export class RunningTurn implements Turn {
  readonly #options: TurnOptions;
  readonly #startMs = performance.now();
  readonly #sentTexts: NodeText[] = [];
  readonly #calls: Call[] = [];
  readonly #inferences: (InferenceRecord & { readonly nodeName: string })[] = [];
  readonly #insights: Insight[] = [];
  readonly #warnings = new Set<string>();
  #nodeName = '';
  #held: NodeText | undefined;
  #firstTokenMs = 0;

  constructor(options: TurnOptions) {
    this.#options = options;
  }

  get message(): string {
    return this.#options.message;
  }

  get dialog(): Dialog {
    return this.#options.dialog;
  }

  get variables(): Readonly<Record<string, string>> {
    return this.#options.variables;
  }

  get signal(): AbortSignal {
    return this.#options.signal;
  }

  get calls(): readonly Call[] {
    return this.#calls;
  }

  get inferences(): number {
    return this.#inferences.length;
  }

  get insights(): readonly Insight[] {
    return this.#insights;
  }

  get answer(): string {
    return joinTexts(this.#held ? [...this.#sentTexts, this.#held] : this.#sentTexts);
  }

  /** Sets the node that runs from now on; frames name it. */
  enter(nodeName: string): void {
    this.#nodeName = nodeName;
  }

  backpressure(): Promise<void> | undefined {
    const wait = this.#options.backpressure();
    return wait && untilAborted(wait, this.signal);
  }

  say(text: string, kind: 'delta' | 'whole'): void {
    this.#sendText({ nodeName: this.#nodeName, text }, kind);
  }

  hold(text: string): void {
    if (this.#held) this.warn(`${this.#nodeName} replaced the answer that ${this.#held.nodeName} held back`);
    this.#held = { nodeName: this.#nodeName, text };
  }

  release(): void {
    this.#held = undefined;
  }

  recordCall(call: Call, notify: boolean): void {
    const callIndex = this.#calls.push(call) - 1;
    if (!notify) return;
    const bytes = jsonBytes(call.flatArguments) + jsonBytes(call.typedArguments);
    if (bytes > maxCallBytes) {
      this.warn(
        `${this.#nodeName} detected a call to ${call.name} whose arguments do not fit in a frame (${bytes} bytes): it is not sent`,
      );
      return;
    }
    const issues = takeFitting(call.issues, maxPartBytes);
    if (issues.length < call.issues.length) {
      this.warn(
        `${this.#nodeName} reports the first ${issues.length} of ${call.issues.length} issues of a call to ${call.name}; the others do not fit in a frame`,
      );
    }
    this.#options.emit('toolCallNotification', {
      ...this.#ids,
      nodeName: this.#nodeName,
      callIndex,
      callId: call.id,
      toolName: call.name,
      argumentsJson: call.flatArguments,
      typedArgumentsJson: call.typedArguments,
      known: call.known,
      repaired: call.repaired,
      consequential: call.consequential,
      because: '',
      issues,
    });
  }

  recordInference(inference: InferenceRecord): void {
    this.#inferences.push({ ...inference, nodeName: this.#nodeName });
    const { firstTokenMs, totalMs } = inference.timings;
    if (this.#firstTokenMs === 0 && firstTokenMs > 0) this.#firstTokenMs = this.#elapsedMs - (totalMs - firstTokenMs);
  }

  recordInsight(insight: Insight): void {
    this.#insights.push(insight);
    this.#sendEvent('tool_insight', insight);
  }

  emitEvent(event: string, payload: object): void {
    if (this.#options.diagnostics) this.#sendEvent(event, payload);
  }

  warn(warning: string): void {
    this.#warnings.add(truncateMessage(warning));
  }

  /** Sends the held answer, if there is one. */
  flush(): void {
    if (this.#held) this.#sendText(this.#held, 'whole');
    this.#held = undefined;
  }

  /** Ends the answer and sends the turn summary. */
  complete(outcome: Pick<TurnComplete, 'status' | 'error' | 'path'>): void {
    const summary = summarizeTurn({
      ...this.#ids,
      ...outcome,
      inferences: this.#inferences,
      calls: this.#calls,
      warnings: [...this.#warnings],
      diagnostics: this.#options.diagnostics,
      timeToFirstTokenMs: this.#firstTokenMs,
      durationMs: this.#elapsedMs,
    });
    this.#options.onEnd?.({ summary, calls: this.#calls, insights: this.#insights });
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
  interaction(mark?: Interaction['mark']): Interaction {
    const { message: user, variables } = this.#options;
    const hasVariables = Object.keys(variables).length > 0;
    return { user, assistant: joinTexts(this.#sentTexts), ...(mark && { mark }), ...(hasVariables && { variables }) };
  }

  #sendEvent(eventType: string, payload: object): void {
    const pieces = splitToFrames(JSON.stringify(payload));
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

  #sendText({ nodeName, text }: NodeText, kind: 'delta' | 'whole'): void {
    if (text === '') return;
    this.#sentTexts.push({ nodeName, text });
    const pieces = splitToFrames(text);
    for (const piece of pieces) {
      const isDelta = kind === 'delta' || pieces.length > 1;
      this.#options.emit('answerText', { ...this.#ids, nodeName, text: piece, isDelta, isFinal: false });
    }
  }
}

// Texts of one node are joined without a separator, texts of different nodes with a line break.
function joinTexts(texts: readonly NodeText[]): string {
  return texts.reduce((joined, { nodeName, text }, index) => {
    const previous = texts[index - 1];
    return previous && previous.nodeName !== nodeName ? `${joined}\n${text}` : joined + text;
  }, '');
}
