import type { Token } from '../decoding/tokenizer.ts';
import type { ChatTemplate } from '../../chat/template/chatTemplate.ts';
import type { Prompt, ToolBlock } from '../../chat/dialog.ts';
import type { Model, Sequence, SequenceOptions } from '../contract/engine.ts';
import type { ModelLimits, ModelSupervision } from '../contract/model.ts';
import { type ModelMemory, noModelMemory, noStats, type ModelStats } from '../contract/memory.ts';
import { countTools, overheadDialogs, overheadOf } from '../decoding/templateProbes.ts';
import type { Endpoints } from './endpoints/endpoints.ts';
import type { RemotePrompts } from './sequence/remotePrompts.ts';
import { RemoteSequence } from './sequence/sequence.ts';

/** What a remote model is made of. */
export interface RemoteModelParts {
  readonly endpoints: Endpoints;
  readonly prompts: RemotePrompts;
  readonly chatTemplate: ChatTemplate;
  readonly endTokens: readonly Token[];
  /** Tokens. */
  readonly contextSize: number;
  readonly overhead: Model['overhead'];
  readonly limits: ModelLimits;
  readonly notes: readonly string[];
  /** Ends all requests, and closes all connections. */
  readonly onClose: (model: Model) => unknown;
  /** What it takes on this machine; absent: nothing. */
  readonly memory?: ModelMemory | undefined;
  /** Present where this process has started the server. */
  readonly supervision?: ModelSupervision | undefined;
}

/** A model that inference servers have in memory: prompts are rendered here, tokens are computed there. */
export class RemoteServedModel implements Model {
  readonly contextSize: number;
  readonly toolDialect: Model['toolDialect'];
  readonly replyMarks: Model['replyMarks'];
  readonly canSpeculate = false;
  readonly limits: ModelLimits;
  readonly notes: readonly string[];
  readonly overhead: Model['overhead'];
  readonly supervision: ModelSupervision | undefined;
  readonly #parts: RemoteModelParts;
  readonly #sequences = new Set<Sequence>();

  constructor(parts: RemoteModelParts) {
    const { chatTemplate } = parts;
    this.#parts = parts;
    this.contextSize = parts.contextSize;
    this.toolDialect = chatTemplate.toolDialect;
    this.replyMarks = chatTemplate.replyMarks;
    this.limits = parts.limits;
    this.notes = parts.notes;
    this.overhead = parts.overhead;
    this.supervision = parts.supervision;
  }

  async count(texts: readonly string[]): Promise<readonly number[]> {
    const { prompts } = this.#parts;
    return Promise.all(texts.map(async (text) => (await prompts.plainTokens(text)).length));
  }

  countTools(tools: ToolBlock): Promise<number> {
    return countTools(this.#parts.prompts, tools, this.contextSize);
  }

  async render(prompt: Prompt): Promise<string> {
    return this.#parts.prompts.render(prompt).text;
  }

  openSequence({ label = '' }: SequenceOptions = {}): Sequence {
    const { endpoints, prompts, endTokens } = this.#parts;
    const sequence = new RemoteSequence({
      label,
      endpoints,
      prompts,
      endTokens,
      replyMarks: this.replyMarks,
      contextSize: this.contextSize,
      onClose: (closed) => this.#sequences.delete(closed),
    });
    this.#sequences.add(sequence);
    return sequence;
  }

  stats(): ModelStats {
    const { endpoints, memory = noModelMemory, supervision } = this.#parts;
    const { all } = endpoints;
    const sum = (read: (slots: (typeof all)[number]['slots']) => number): number =>
      all.reduce((total, { slots }) => total + read(slots), 0);
    // What is in the memory of another machine is not this server's.
    return {
      ...noStats,
      backend: supervision ? 'llama-server' : 'http',
      memory,
      slots: sum(({ count }) => count),
      slotsBusy: sum(({ busy }) => busy),
      waiting: sum(({ waiting }) => waiting),
      sequences: this.#sequences.size,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#sequences].map((sequence) => sequence[Symbol.asyncDispose]()));
    await this.#parts.onClose(this);
  }
}

/** Measures the tokens that the chat template adds to a prompt, and to each message. */
export async function measureOverhead(prompts: RemotePrompts): Promise<Model['overhead']> {
  const addedTokens = overheadDialogs.map(async (messages) => {
    const whole = await prompts.tokensYielding(prompts.render({ messages }));
    const texts = await Promise.all(messages.map(({ text }) => prompts.plainTokens(text)));
    return whole.length - texts.flat().length;
  });
  return overheadOf(await Promise.all(addedTokens));
}
