import type { Completion, GenerateOptions, SamplingParams, Sequence } from '../engine/engine.ts';
import { paramError, type NodeContext } from '../graph/node.ts';
import type { Turn } from '../graph/turn.ts';
import type { ModelLease } from '../models/pool/pool.ts';
import { samplingSchema, type PartialSampling } from '../models/catalogue/sampling.ts';
import type { PromptInputs, Projected, Projection } from '../projection/projection.ts';
import type { Schema } from '../schema.ts';
import { ReasoningFilter, stripReasoning } from '../tools/reasoning/reasoningFilter.ts';

/** Parameters that every node with a model has. */
export const inferenceParams = {
  model_name: { type: 'string', default: '', description: 'A name in models.json; "" = the agent\'s default.' },
  system_prompt: { type: 'string', default: '', live: true, description: 'Template of the system message.' },
  sampling: { ...samplingSchema, live: true },
  thinking: {
    type: 'boolean',
    default: false,
    live: true,
    description: 'Whether a model that reasons aloud may. Reasoning is never part of an answer.',
  },
} as const satisfies Readonly<Record<string, Schema>>;

/** What a node contributes to its prompt, and how the prompt is made of it. */
export interface PromptRequest extends Omit<PromptInputs, 'maxTokens' | 'dialog'> {
  readonly projection: Projection;
  /** Whether a model that reasons aloud may. */
  readonly thinking: boolean;
  readonly sampling: PartialSampling;
}

/** How a completion is wanted. */
export interface CompletionOptions extends Pick<GenerateOptions, 'onText' | 'controlTokens' | 'grammar'> {
  /** Facts for debug_info. */
  readonly notes?: object;
}

/** One node's access to its model, through a sequence of its own. */
export class InferenceRunner implements AsyncDisposable {
  readonly #use: ModelLease;
  readonly #sequence: Sequence;
  readonly #nodeDefaults: Partial<SamplingParams>;

  /** @param standing sampling that holds for this node type unless the graph says otherwise. */
  constructor(use: ModelLease, standing: Partial<SamplingParams> = {}) {
    this.#use = use;
    this.#sequence = use.model.openSequence();
    this.#nodeDefaults = standing;
  }

  /**
   * Completes this turn's prompt and accounts for it. What the model reasons aloud goes to debug_info; with
   * `controlTokens` the text is left as it was written.
   * @throws the signal's reason when the turn is cancelled meanwhile.
   */
  async complete(
    turn: Turn,
    question: PromptRequest,
    { notes, onText, ...wish }: CompletionOptions = {},
  ): Promise<Completion> {
    const { prompt, dropped } = await this.#project(turn, question);
    const reasoning = new ReasoningFilter();
    const say = (text: string): void => void (text !== '' && onText?.(text));
    const completion = await this.#sequence.generate(prompt, {
      ...wish,
      sampling: this.#samplingParams(question),
      signal: turn.signal,
      backpressure: () => turn.backpressure(),
      onText: (piece) => say(reasoning.push(piece)),
    });
    say(reasoning.flush());
    const thought = reasoning.reasoning;
    const facts = { model: this.#use.name, ...notes, ...(thought !== '' && { reasoning: thought }) };
    turn.recordInference({ ...completion, dropped, notes: facts });
    turn.signal.throwIfAborted();
    return wish.controlTokens ? completion : { ...completion, text: stripReasoning(completion.text) };
  }

  /** Evaluates the head of the prompt ahead of time. */
  async prefill(turn: Turn, question: PromptRequest): Promise<void> {
    const { prompt } = await this.#project(turn, question);
    await this.#sequence.prefill(prompt, turn.signal);
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#sequence[Symbol.asyncDispose]();
  }

  async #project(turn: Turn, question: PromptRequest): Promise<Projected> {
    const { projection, sampling: _, thinking, ...contribution } = question;
    const maxTokens = this.#samplingParams(question).max_tokens;
    const { prompt, dropped } = await projection.project({ ...contribution, dialog: turn.dialog, maxTokens });
    return { prompt: { ...prompt, thinking }, dropped };
  }

  #samplingParams({ sampling }: PromptRequest): SamplingParams {
    return { ...this.#use.defaultSampling, ...this.#nodeDefaults, ...sampling };
  }
}

/** The model of a node: the one it names, or the agent's default. */
export const resolveModel = (context: NodeContext, modelName: string): Promise<ModelLease> =>
  context.model(modelName === '' ? undefined : modelName).catch((error: unknown) => {
    throw paramError('/model_name', error);
  });
