import type { Completion, GenerateOptions, Sampling, Sequence } from '../engine/engine.ts';
import { refusalFor, type Supplies } from '../graph/node.ts';
import type { Turn } from '../graph/turn.ts';
import type { ModelUse } from '../models/pool/pool.ts';
import { samplingSchema, type PartialSampling } from '../models/catalogue/sampling.ts';
import type { Contribution, Projected, Projection } from '../projection/projection.ts';
import type { Schema } from '../schema.ts';
import { ReasoningStream, spokenIn } from '../tools/reasoning/reasoningFilter.ts';

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
export interface Question extends Omit<Contribution, 'maxTokens' | 'dialog'> {
  readonly projection: Projection;
  /** Whether a model that reasons aloud may. */
  readonly thinking: boolean;
  readonly sampling: PartialSampling;
}

/** How a completion is wanted. */
export interface Wish extends Pick<GenerateOptions, 'onText' | 'controlTokens' | 'grammar'> {
  /** Facts for debug_info. */
  readonly notes?: object;
}

/** One node's access to its model, through a sequence of its own. */
export class Inference implements AsyncDisposable {
  readonly #use: ModelUse;
  readonly #sequence: Sequence;
  readonly #standing: Partial<Sampling>;

  /** @param standing sampling that holds for this node type unless the graph says otherwise. */
  constructor(use: ModelUse, standing: Partial<Sampling> = {}) {
    this.#use = use;
    this.#sequence = use.model.openSequence();
    this.#standing = standing;
  }

  /**
   * Completes this turn's prompt and accounts for it. What the model reasons aloud goes to debug_info; with
   * `controlTokens` the text is left as it was written.
   * @throws the signal's reason when the turn is cancelled meanwhile.
   */
  async complete(turn: Turn, question: Question, { notes, onText, ...wish }: Wish = {}): Promise<Completion> {
    const { prompt, dropped } = await this.#project(turn, question);
    const reasoning = new ReasoningStream();
    const say = (text: string): void => void (text !== '' && onText?.(text));
    const completion = await this.#sequence.generate(prompt, {
      ...wish,
      sampling: this.#drawn(question),
      signal: turn.signal,
      pace: () => turn.pace(),
      onText: (piece) => say(reasoning.pass(piece)),
    });
    say(reasoning.rest());
    const thought = reasoning.reasoning;
    const facts = { model: this.#use.name, ...notes, ...(thought !== '' && { reasoning: thought }) };
    turn.inferred({ ...completion, dropped, notes: facts });
    turn.signal.throwIfAborted();
    return wish.controlTokens ? completion : { ...completion, text: spokenIn(completion.text) };
  }

  /** Evaluates the head of the prompt ahead of time. */
  async warm(turn: Turn, question: Question): Promise<void> {
    const { prompt } = await this.#project(turn, question);
    await this.#sequence.warm(prompt, turn.signal);
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#sequence[Symbol.asyncDispose]();
  }

  async #project(turn: Turn, question: Question): Promise<Projected> {
    const { projection, sampling: _, thinking, ...contribution } = question;
    const maxTokens = this.#drawn(question).max_tokens;
    const { prompt, dropped } = await projection.project({ ...contribution, dialog: turn.dialog, maxTokens });
    return { prompt: { ...prompt, thinking }, dropped };
  }

  #drawn({ sampling }: Question): Sampling {
    return { ...this.#use.defaultSampling, ...this.#standing, ...sampling };
  }
}

/** The model of a node: the one it names, or the agent's default. */
export const modelOf = (supplies: Supplies, modelName: string): Promise<ModelUse> =>
  supplies.model(modelName === '' ? undefined : modelName).catch((error: unknown) => {
    throw refusalFor('/model_name', error);
  });
