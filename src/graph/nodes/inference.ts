import { Fault } from '../../protocol/fault.ts';
import type { BackgroundRun, KnowledgeBlock, Turn } from '../compile/turn.ts';
import type {
  AnswerScores,
  Completion,
  GenerateOptions,
  InferenceResult,
  Model,
  Sequence,
} from '../../inference/contract/engine.ts';
import type { PartialSampling, SamplingParams } from '../../inference/contract/samplingParams.ts';
import { mergeSampling, samplingSchema } from '../../inference/contract/samplingParams.ts';
import { type ModelNames, modelNames } from '../compile/modelNames.ts';
import { InvalidParams, type NodeContext, paramError } from '../compile/node.ts';
import { raceAbort } from '../../base/abort.ts';
import type { Dialog, Message } from '../../chat/dialog.ts';
import type { ModelLease } from '../../inference/models/pool/lease.ts';
import { chatProjection, type Projection } from '../projection/projection.ts';
import type { PromptInputs } from '../projection/tokenBudget.ts';
import type { Schema } from '../../protocol/schema.ts';
import { boolean, integer, string } from '../../protocol/schemaBuilders.ts';
import { createSummarizer, type SummaryParams } from './runningSummary.ts';
import { ReasoningFilter, splitReply } from '../../chat/reply/reasoning/splitReply.ts';

/** Parameters of all nodes with a model. */
export const inferenceParams = {
  model_name: modelNames('A name in models.json; "" = the agent\'s default.'),
  system_prompt: string({ default: '', live: true, editor: 'multiline' }, 'Template of the system message.'),
  sampling: { ...samplingSchema, live: true },
  thinking: boolean(
    { default: false, live: true },
    'Whether a reasoning model may reason before it answers. Reasoning is never part of an answer.',
  ),
  max_thinking_tokens: integer(
    { minimum: 0, live: true },
    'Maximum number of reasoning tokens: then the reasoning is closed, and the model answers. Default: none.',
  ),
} as const satisfies Readonly<Record<string, Schema>>;

/** The input of a prompt, the projection that makes the prompt, and how to sample the completion. */
export interface PromptRequest extends Omit<PromptInputs, 'maxTokens' | 'dialog'> {
  readonly projection: Projection;
  /** Whether a reasoning model may reason before it answers. */
  readonly thinking: boolean;
  /** Budget of reasoning tokens; undefined: none. */
  readonly maxThinkingTokens?: number | undefined;
  readonly sampling: PartialSampling;
  /** Messages after the calls and results of the turn so far. Default: none. */
  readonly last?: readonly Message[];
}

/** What answers are scored as replies to. Reasoning is off. */
export interface ScoreRequest extends Pick<PromptRequest, 'projection' | 'system' | 'current'> {
  /** Whether the prompt has the dialog before this turn. Default true. */
  readonly dialog?: boolean;
  /** Whether the prompt has the calls and results of the turn so far, after `current`. Default true. */
  readonly exchanges?: boolean;
}

/** Options of a completion. */
export interface CompletionOptions extends Pick<GenerateOptions, 'onText' | 'controlTokens' | 'grammar' | 'choices'> {
  readonly notes?: InferenceNotes;
  /** Ends the text where it is when it is aborted; the turn goes on. */
  readonly stopSignal?: AbortSignal;
}

/** Inference for one node: generates completions in a sequence of its own, so that nodes do not evict each other's prefix. */
export class InferenceRunner implements AsyncDisposable {
  readonly lease: ModelLease;
  readonly nodeName: string;
  readonly #sequence: Sequence;
  readonly #nodeDefaults: Partial<SamplingParams>;
  readonly #summarize: ReturnType<typeof createSummarizer> | undefined;
  /** What the client knows already. */
  readonly #warnings = new Set<string>();

  /**
   * @param nodeDefaults sampling parameters of this node type; those of the graph take precedence.
   * @param summaries whether and how the dialog is summarised. Default: it is not.
   */
  constructor(
    lease: ModelLease,
    { nodeName, warn }: Pick<NodeContext, 'nodeName' | 'warn'>,
    nodeDefaults: Partial<SamplingParams> = {},
    { summary, summary_tokens }: SummaryParams = { summary: false, summary_tokens: 0 },
  ) {
    this.lease = lease;
    this.nodeName = nodeName;
    this.#summarize = summary ? createSummarizer(lease, { nodeName, warn }, summary_tokens) : undefined;
    this.#sequence = lease.model.openSequence({ label: nodeName });
    this.#nodeDefaults = nodeDefaults;
  }

  /**
   * Generates the completion of a prompt and records its tokens and timings in the turn. Reasoning is removed from the
   * text, added to debug_info and sent as a NodeEvent `reasoning`; with all `controlTokens` the text of the completion is
   * returned unchanged. The NodeEvent `inference` has the prompt and the raw text.
   * @returns also the messages to tools, in a reply of several messages (gpt-oss): no part of a text without reasoning.
   * @throws the reason of the turn's signal when the turn is cancelled.
   */
  async complete(
    turn: Turn,
    request: PromptRequest,
    { notes = {}, onText, stopSignal, ...options }: CompletionOptions = {},
  ): Promise<Completion & { readonly toolMessages: readonly string[] }> {
    const sampling = this.#samplingParams(request);
    this.#warnOfSampling(turn, sampling);
    const { prompt, shown } = await this.#projection(turn, request, sampling.max_tokens);
    const { maxThinkingTokens } = request;
    const { replyMarks } = this.lease.model;
    const filter = new ReasoningFilter(replyMarks);
    const emit = (text: string): void => void (text !== '' && onText?.(text));
    const completion = await this.#sequence.generate(prompt, {
      ...options,
      ...(maxThinkingTokens !== undefined && { maxThinkingTokens }),
      sampling,
      transcript: turn.diagnostics,
      inference: turn.inferences + 1,
      message: promptedMessage(turn.message, request.current),
      signal: stopSignal ? AbortSignal.any([turn.signal, stopSignal]) : turn.signal,
      ...turn.schedule,
      backpressure: () => turn.backpressure(),
      onText: (piece) => emit(filter.push(piece)),
    });
    emit(filter.flush());
    const { reasoning, content, toolMessages } = splitReply(completion.text, replyMarks);
    if (reasoning !== '') turn.emitEvent('reasoning', { text: reasoning });
    emitInference(turn, completion, sampling, this.lease.name, notes);
    const facts = { model: this.lease.name, ...notes, ...(reasoning !== '' && { reasoning }) };
    turn.recordInference({ ...completion, ...shown, notes: facts });
    turn.signal.throwIfAborted();
    return { ...completion, toolMessages, text: options.controlTokens === true ? completion.text : content };
  }

  /**
   * Scores answers as whole replies to a prompt, and records the tokens and timings in the turn. The scores are in the
   * debug_info and in the NodeEvent `inference`.
   * @throws the reason of the turn's signal when the turn is cancelled.
   */
  async score(
    turn: Turn,
    request: ScoreRequest,
    answers: readonly string[],
    notes: InferenceNotes = {},
  ): Promise<AnswerScores> {
    // No token is less than a byte; the rest is for the marks around an answer.
    const maxTokens = markTokens + Math.max(0, ...answers.map((answer) => Buffer.byteLength(answer)));
    const { prompt, shown } = await this.#projection(turn, { ...request, thinking: false }, maxTokens);
    // The events of many scorings may be far more than a client reads.
    await turn.backpressure();
    const result = await this.#sequence.score(prompt, answers, {
      transcript: turn.diagnostics,
      inference: turn.inferences + 1,
      message: promptedMessage(turn.message, request.current),
      signal: turn.signal,
      ...turn.schedule,
    });
    const scores = answers.map((answer, index) => ({ answer, score: result.scores[index] }));
    const facts = { ...notes, ...(result.finishReason === 'end' && { scores }) };
    emitInference(turn, result, undefined, this.lease.name, facts);
    turn.recordInference({ ...result, ...shown, notes: { model: this.lease.name, ...facts } });
    turn.signal.throwIfAborted();
    return result;
  }

  /** Prefills the part of the prompt that does not depend on the message, before there is one. */
  async prefill(turn: Turn, request: PromptRequest): Promise<void> {
    const { prompt } = await this.#projection(turn, request, this.#samplingParams(request).max_tokens);
    // Nothing that a user or a client has said is in a prompt without a message, a dialog and variables.
    const hasOwnWords =
      turn.message !== '' || turn.dialog.interactions.length > 0 || Object.keys(turn.variables).length > 0;
    await this.#sequence.prefill(prompt, turn.signal, { ...turn.schedule, keep: !hasOwnWords });
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#sequence[Symbol.asyncDispose]();
  }

  /** The prompt, and how many interactions it leaves out, and has a summary of. */
  async #projection(turn: Turn, request: ScoreRequest & Pick<PromptRequest, 'thinking' | 'last'>, maxTokens: number) {
    const { projection, thinking, system, last = [], dialog = true, exchanges = true } = request;
    const exchanged = exchanges ? turn.exchanges.flatMap(({ messages }) => messages) : [];
    const current = [...request.current, ...exchanged, ...last];
    // The model may be waited for: it counts tokens.
    const projecting = projection.project({
      system,
      current,
      dialog: dialog ? turn.dialog : noDialog,
      maxTokens,
      ...(this.#summarize && dialog && { summaries: { latest: turn.summaries.get(this.nodeName) } }),
    });
    const { prompt, dropped, summary, due } = await raceAbort(projecting, turn.signal).catch((error: unknown) => {
      throw explainKnowledge(error, turn.knowledge, [system, ...current.map(({ text }) => text)]);
    });
    this.#summarize?.(turn, due);
    return { prompt: { ...prompt, thinking }, shown: { dropped, summarised: summary?.interactions } };
  }

  /** Warns once of parameters that have no effect with the model. */
  #warnOfSampling(turn: Turn, { speculate, dry, xtc }: SamplingParams): void {
    const { model, name } = this.lease;
    const { samplers } = model.limits ?? {};
    const speculation = `"speculate": "prompt" has no effect with the model "${name}": its KV cache cannot be cut back, or an inference server runs it; set it to "off"`;
    const problems = [
      ...(speculate === 'prompt' && !model.canSpeculate ? [speculation] : []),
      ...(samplers !== undefined && (dry.multiplier > 0 || xtc.probability > 0) ? [samplers] : []),
    ];
    for (const problem of problems.filter((each) => !this.#warnings.has(each))) {
      this.#warnings.add(problem);
      turn.warn(`${this.nodeName}: ${problem}`);
    }
  }

  #samplingParams({ sampling }: PromptRequest): SamplingParams {
    return mergeSampling(this.lease.defaultSampling, { ...this.#nodeDefaults, ...sampling });
  }
}

const noDialog: Dialog = { interactions: [] };
const markTokens = 32;

/** What stands for the user's message in a prompt: the message, or the template that replaces it. */
function promptedMessage(message: string, current: readonly Message[]): string {
  const texts = current.filter(({ role, toolExchange }) => role === 'user' && !toolExchange).map(({ text }) => text);
  return texts.includes(message) ? message : (texts[0] ?? message);
}

/** Leases the model of a node: the one it names, or one of those it lists, else the agent's default. @throws InvalidParams when it cannot be used. */
export const resolveModel = (context: NodeContext, modelName: ModelNames): Promise<ModelLease> =>
  context.model(modelName === '' ? undefined : modelName).catch((error: unknown) => {
    throw paramError('/model_name', error);
  });

/** The error of a prompt that is too large, with its knowledge and what to lower. @param texts of the prompt. */
export function explainKnowledge(error: unknown, blocks: readonly KnowledgeBlock[], texts: readonly string[]): unknown {
  if (!(error instanceof Fault) || error.name !== 'PROMPT_TOO_LARGE') return error;
  const parts = blocks.flatMap(({ name, chunks }) => {
    const shown = chunks.filter(({ text }) => texts.some((whole) => whole.includes(text)));
    const characters = shown.reduce((sum, { text }) => sum + text.length, 0);
    const entries = shown.length === 1 ? '1 entry' : `${shown.length} entries`;
    return shown.length === 0 ? [] : [`${entries} of knowledge_${name} with ${characters} characters`];
  });
  if (parts.length === 0) return error;
  const { message, detail } = error;
  const hint = `the prompt has ${parts.join(', ')}: lower top_k of the node that finds them, or make the entries shorter`;
  return new Fault('PROMPT_TOO_LARGE', `${message}; ${hint}`, { detail, cause: error });
}

interface InferenceNotes {
  /** The tool-call format. */
  readonly tool_call_format?: string;
  readonly [fact: string]: unknown;
}

/** Sends the NodeEvent `inference`, if there is a transcript. @param sampling undefined: scored. */
export function emitInference(
  turn: Pick<BackgroundRun, 'emitEvent'>,
  { transcript, tokens, timings, finishReason }: InferenceResult,
  sampling: SamplingParams | undefined,
  model: string,
  { tool_call_format: format, ...facts }: InferenceNotes,
): void {
  if (!transcript) return;
  const { queuedMs: queued_ms, firstTokenMs: first_token_ms, totalMs: total_ms } = timings;
  turn.emitEvent('inference', {
    ...facts,
    model,
    ...(format !== undefined && { format }),
    prompt: transcript.prompt,
    text: transcript.text,
    finish_reason: finishReason,
    ...(sampling && { sampling }),
    tokens,
    timings: { queued_ms, first_token_ms, total_ms },
  });
}

/** @param pointer the parameter that needs a grammar. @throws InvalidParams when the model cannot decode by one. */
export function requireGrammars({ limits }: Pick<Model, 'limits'>, pointer: string): void {
  if (limits?.grammars === undefined) return;
  throw new InvalidParams([{ pointer, message: `cannot be had from this model: ${limits.grammars}` }]);
}

/**
 * Lets a model say how probable answers to a question are.
 * @param questionOf makes the question of a turn, `about` something; calls and results of the turn are no part of it else.
 * @throws InvalidParams when the model cannot be used.
 */
export async function openScorer(
  modelName: ModelNames,
  context: NodeContext,
  questionOf: (turn: Turn, about: string) => Pick<ScoreRequest, 'system' | 'current'>,
) {
  const lease = await resolveModel(context, modelName);
  const { scores } = lease.model.limits ?? {};
  if (scores !== undefined)
    throw new InvalidParams([{ pointer: '/model_name', message: `names a model that cannot be used: ${scores}` }]);
  const inference = new InferenceRunner(lease, context);
  const projection = chatProjection(lease.model);
  const requestOf = (turn: Turn, about: string) => ({ ...questionOf(turn, about), projection, exchanges: false });
  return {
    score: (turn: Turn, answers: readonly string[], about = '') =>
      inference.score(turn, requestOf(turn, about), answers),
    /** Prefills what all questions have in common. */
    warmUp: (turn: Turn) =>
      inference.prefill(turn, { ...requestOf(turn, ''), thinking: false, sampling: { max_tokens: 1 } }),
    [Symbol.asyncDispose]: () => inference[Symbol.asyncDispose](),
  };
}
