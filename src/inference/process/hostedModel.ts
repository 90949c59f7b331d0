import type { EmbedOptions, Embeddings } from '../contract/model.ts';
import type { Model, ModelStats, Sequence } from '../contract/engine.ts';
import type { CallGrammar } from '../../chat/grammar/grammar.ts';
import type { BatchProgress } from './messages.ts';
import type { ContextProgress } from '../llama/createContext.ts';

/** A sequence of a hosted model, with the grammar of its last generation. */
interface HostedSequence {
  readonly sequence: Sequence;
  grammar: CallGrammar | undefined;
}

/** The model of an engine process, with its sequences by the numbers that the server process gave them. */
export class HostedModel {
  model: Model | undefined;
  context: ContextProgress | undefined;
  readonly #sequences = new Map<number, HostedSequence>();
  #lastStats = '';

  /** The loaded model. @throws Error before it is loaded, which the server process waits for. */
  get loaded(): Model {
    if (!this.model) throw new Error('no model is loaded in this process');
    return this.model;
  }

  /** A sequence, which is opened if it is new. */
  sequence(id: number): HostedSequence {
    const existing = this.#sequences.get(id);
    if (existing) return existing;
    const opened: HostedSequence = { sequence: this.loaded.openSequence(), grammar: undefined };
    this.#sequences.set(id, opened);
    return opened;
  }

  /** Ends the generations of a sequence, and frees its KV state. */
  async closeSequence(id: number): Promise<void> {
    const hosted = this.#sequences.get(id);
    this.#sequences.delete(id);
    await hosted?.sequence[Symbol.asyncDispose]();
  }

  /** @throws Error for a chat model, which the server process does not ask. */
  embed(texts: readonly string[], options: EmbedOptions): Promise<Embeddings> {
    const { embed } = this.loaded;
    if (!embed) throw new Error('the model is no embedding model');
    return embed.call(this.loaded, texts, options);
  }

  /** Ends all generations. */
  async stop(): Promise<void> {
    await Promise.all([...this.#sequences.keys()].map((id) => this.closeSequence(id)));
  }

  /** The statistics, if they have changed since the last call. */
  changedStats(): ModelStats | undefined {
    const stats = this.model?.stats();
    const text = stats ? JSON.stringify(stats) : '';
    if (!stats || text === this.#lastStats) return undefined;
    this.#lastStats = text;
    return stats;
  }

  /** The progress of its batches; undefined before it has a context. */
  progress(): BatchProgress | undefined {
    if (!this.context) return undefined;
    const { running, ended } = this.context.batchTimer;
    return { running, ended, chunkMs: this.context.chunkMs() };
  }
}
