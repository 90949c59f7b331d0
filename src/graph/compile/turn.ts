import type { Hit } from '../retrieval/retriever.ts';
import type { Dialog, Message, PendingCall } from '../../chat/dialog.ts';
import type { InferenceResult } from '../../inference/contract/engine.ts';
import type { Summary } from '../projection/summary.ts';
import type { InferenceSchedule } from '../../inference/contract/pace.ts';
import type { ToolCallIssue } from '../../protocol/frames.gen.ts';
import type { JsonValue } from '../../chat/json/value.ts';
import type { AnsweredCall } from '../../chat/tool.ts';
import type { Insight } from '../../chat/tools/validate/callIssues.ts';

/** A tool call as a turn records it. */
export interface Call {
  /** Nine characters of [A-Za-z0-9]. */
  readonly id: string;
  readonly name: string;
  /** Text of a flat JSON object whose values are all strings. */
  readonly flatArguments: string;
  /** Text of a JSON object, its values coerced to the declared types where that is lossless. */
  readonly typedArguments: string;
  /** Whether the node has a tool of that name. */
  readonly known: boolean;
  /** Whether mistakes in the JSON were repaired. */
  readonly repaired: boolean;
  /** Whether the tool has side effects in the world, so that a client may want to ask first. */
  readonly consequential: boolean;
  readonly issues: readonly ToolCallIssue[];
  /** Why its tool was offered: the guideline that brought it, else the last Route label; "" = neither. */
  readonly because: string;
  /** Why the model called the tool, in its own words; for diagnostics. */
  readonly thought?: string;
  /** How probable it is, 0 to 1; absent: not known. */
  readonly confidence?: number;
}

/** A tool that a guideline brings, by its name. */
export interface SelectedTool {
  readonly name: string;
  /** The name of the guideline. */
  readonly because: string;
}

/** The guidelines that hold in a turn, and the tools that they bring. */
export interface ToolSelection {
  /** `action`: what the model is to do then, for templates; "" = nothing in particular. */
  readonly guidelines: readonly { readonly name: string; readonly action: string }[];
  readonly tools: readonly SelectedTool[];
}

/** How a call is recorded. */
export interface CallDelivery {
  /** Whether the client is notified of it. */
  readonly notify: boolean;
  /** Whether the turn will wait for its result. */
  readonly awaitsResult: boolean;
}

/** The result of a call, as the client sent it. */
export type CallResult = Pick<AnsweredCall, 'ok' | 'content' | 'lifespan'>;

/** Calls of one reply with their results: what later prompts of the turn show of them. */
export interface Exchange {
  readonly calls: readonly AnsweredCall[];
  /** The calls and the results as messages of a prompt. */
  readonly messages: readonly Message[];
}

/** The calls of exchanges with their results, each once: a repeated call has the result of the first one, under its id. */
export const answeredCalls = (exchanges: readonly Exchange[]): readonly AnsweredCall[] => [
  ...new Map(exchanges.flatMap(({ calls }) => calls).map((call) => [call.id, call])).values(),
];

/** Statistics of one inference of a turn, for the turn summary. */
export interface InferenceRecord extends Omit<InferenceResult, 'transcript'> {
  /** Number of interactions that did not fit into the prompt. */
  readonly dropped: number;
  /** Number of interactions that a summary in the prompt stands for. Absent: it has none. */
  readonly summarised?: number | undefined;
  /** Facts for debug_info, such as the format and why it was chosen. */
  readonly notes: object;
}

/** When work after a turn may compute, and until when. */
export interface BackgroundRun {
  /** Aborted when the dialog is cleared or the agent is destroyed: nothing is to be kept then. */
  readonly signal: AbortSignal;
  readonly schedule: InferenceSchedule;
  /** Sends a NodeEvent of the node, which comes after the end of its turn. */
  emitEvent(event: string, payload: object): void;
}

/** The running summaries of a dialog, by the node whose prompts have them. */
export interface Summaries {
  get(nodeName: string): Summary | undefined;
  /** @throws Fault LIMIT_EXCEEDED; then nothing has changed. */
  set(nodeName: string, summary: Summary): void;
}

/** What is held back with an answer in fields. */
export interface HeldFields {
  /** Those that are no speech. */
  readonly fields: ReadonlyMap<string, JsonValue>;
  /** What later prompts show in place of the text; undefined: the text. */
  readonly prompted: string | undefined;
}

/** A running turn, as its nodes see it. */
export interface Turn {
  /** The message of the user. */
  readonly message: string;
  /** The conversation before this turn. */
  readonly dialog: Dialog;
  readonly summaries: Summaries;
  /** Variables of the agent and of the message, which win. */
  readonly variables: Readonly<Record<string, string>>;
  /** Aborted when the turn is cancelled or takes too long; every wait of a node must end then. */
  readonly signal: AbortSignal;
  /** When its inferences may compute: the priority of the turn, and the pace of its session. */
  readonly schedule: InferenceSchedule;
  /** Tool calls that nodes of this turn have detected so far. */
  readonly calls: readonly Call[];
  /** The mode of the agent at present: MANUAL, if people answer from the next message on. */
  readonly mode: 'AUTO' | 'MANUAL';
  /** The number of inferences that are recorded so far. */
  readonly inferences: number;
  /** Insights of this turn so far: why detected calls were not sent. */
  readonly insights: readonly Insight[];
  /** The calls that lack something and are kept for later turns; of each node one, or all that were unsure. */
  readonly pending: readonly PendingCall[];
  /** Calls of this turn that have results, in the order of the replies. */
  readonly exchanges: readonly Exchange[];
  /** The node whose calls had results when the turn began, in an earlier request; "" = none. */
  readonly continuesAfter: string;
  /** The last selection of tools; undefined: no node has selected any. */
  readonly selection: ToolSelection | undefined;
  /** The last Route label; "" = none. */
  readonly route: string;
  /** The nodes that the turn has come to so far, in their order. */
  readonly visited: readonly string[];
  /** What nodes of this turn have found in storages so far; a block may be empty. */
  readonly knowledge: readonly KnowledgeBlock[];
  /** Text that this turn has sent or holds back so far, held fields included. */
  readonly answer: string;
  /** The same as clients show it: with nothing between the texts of different nodes, where `answer` has a line break. */
  readonly shownAnswer: string;
  /** The fields of its answers so far, without the speech; of two with one name the later one. */
  readonly fields: ReadonlyMap<string, JsonValue>;
  /** Sends text of the answer: a delta while it is generated, or a whole text. */
  say(text: string, kind: 'delta' | 'whole'): void;
  /** Sends a field of an answer. */
  sayField(name: string, value: JsonValue): void;
  /** Sets what later prompts show in place of the text that the node has just sent; undefined: the text. */
  setPrompted(prompted: string | undefined): void;
  /** Backpressure of the client: undefined while it keeps up, else resolves when more may be sent. */
  backpressure(): Promise<void> | undefined;
  /** Holds back an answer; it is sent at the end of the turn, unless it is replaced or released. */
  hold(text: string, more?: HeldFields): void;
  /** Discards the held answer. */
  release(): void;
  /** Records a tool call, and notifies the client of it. @returns whether the turn can wait for its result. */
  recordCall(call: Call, delivery: CallDelivery): boolean;
  /**
   * Waits for the results of calls that were recorded with `awaitsResult`. The wait does not count for --turn-timeout.
   * @returns the results by call id; those that are missing did not come in time.
   * @throws the reason of the signal.
   */
  results(callIds: readonly string[], timeoutMs: number): Promise<ReadonlyMap<string, CallResult>>;
  /** Adds calls with their results to what later prompts of the turn show. */
  recordExchange(exchange: Exchange): void;
  /** Replaces the selection of tools. */
  select(selection: ToolSelection): void;
  /** Sets the Route label; "" = none fits. */
  setRoute(label: string): void;
  /** Adds what a node has found, for templates. Blocks of one name become one; an entry is in it once. */
  recordKnowledge(block: KnowledgeBlock): void;
  /** Sets what later turns show as the answer of this one if it ends without a text; rendered when the turn ends. */
  setSpoken(render: () => string): void;
  /**
   * Runs work once the turn has ended well and is not forgotten, in the background: one after another, while the agent may
   * be in its next turn. Waiting work of the same name is replaced. What it throws is a warning of a later turn.
   */
  later(name: string, work: (run: BackgroundRun) => Promise<void>): void;
  /** Keeps this turn out of the dialog that later turns see. */
  forget(): void;
  /** Records why a call was not sent, and sends that to the client (NodeEvent tool_insight). */
  recordInsight(insight: Insight): void;
  /** Sets the pending calls of a node. @param isExpired whether its former ones had only become too old. */
  setPending(node: string, calls: readonly PendingCall[], isExpired?: boolean): void;
  /** Records the statistics of an inference. */
  recordInference(inference: InferenceRecord): void;
  /** Whether NodeEvents of diagnostics are sent. */
  readonly diagnostics: boolean;
  /** Sends a NodeEvent: only with diagnostics, unless `always` is set. */
  emitEvent(event: string, payload: object, options?: { readonly always: boolean }): void;
  /** Adds a sentence to the turn's warnings. */
  warn(warning: string): void;
}

/** The entries that nodes of a turn have found under one name, for templates. */
export interface KnowledgeBlock {
  /** The source: a parameter of the node, by default its name. */
  readonly name: string;
  /** Best first; [] = nothing was found. */
  readonly chunks: readonly Hit[];
}

/** What the name of a template variable with the chunks of one block begins with. */
export const knowledgePrefix = 'knowledge_';

/** The chunks of each block, by the name that templates have for them. */
export const knowledgeVariables = (blocks: readonly KnowledgeBlock[]): Readonly<Record<string, readonly Hit[]>> =>
  Object.fromEntries(blocks.map(({ name, chunks }) => [knowledgePrefix + name, chunks]));

/** Blocks with one more. If there is a block of its name, its chunks are added to that one; none is there twice. */
export function withBlock(blocks: readonly KnowledgeBlock[], added: KnowledgeBlock): readonly KnowledgeBlock[] {
  const index = blocks.findIndex(({ name }) => name === added.name);
  const existing = blocks[index];
  if (!existing) return [...blocks, added];
  const isNew = ({ id, text }: Hit): boolean =>
    !existing.chunks.some((chunk) => chunk.id === id && chunk.text === text);
  return blocks.with(index, { ...existing, chunks: [...existing.chunks, ...added.chunks.filter(isNew)] });
}
