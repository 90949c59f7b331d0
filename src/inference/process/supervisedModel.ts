import type { Prompt, ToolBlock } from '../../chat/dialog.ts';
import { Fault } from '../../protocol/fault.ts';
import { noStats, totalMemory, type ModelStats } from '../contract/memory.ts';
import type { Model, Sequence, SequenceOptions } from '../contract/engine.ts';
import { raceAbort } from '../../base/abort.ts';
import type { EmbeddingFacts, EmbedOptions, Embeddings, ModelDetails, ModelSupervision } from '../contract/model.ts';
import type { LoadedFacts } from './messages.ts';
import { SupervisedSequence } from './supervisedSequence.ts';
import { Supervisor, type LoadCallbacks, type SupervisorOptions } from './supervisor.ts';

/** A model in a supervised engine process. After a crash its sequences are filled again by their next prompt. */
export class SupervisedModel implements Model {
  readonly contextSize: number;
  readonly toolDialect: Model['toolDialect'];
  readonly canSpeculate: boolean;
  readonly notes: readonly string[];
  readonly overhead: Model['overhead'];
  readonly replyMarks: Model['replyMarks'];
  readonly embedding: EmbeddingFacts | undefined;
  readonly embed: Model['embed'];
  readonly supervision: ModelSupervision;
  readonly #supervisor: Supervisor;
  readonly #stats: ProcessStats;
  readonly #onClose: (model: SupervisedModel) => void;
  readonly #sequences = new Set<Sequence>();
  #lastSequence = 0;
  #closed: Promise<void> | undefined;

  private constructor(
    facts: LoadedFacts,
    supervisor: Supervisor,
    stats: ProcessStats,
    onClose: (model: SupervisedModel) => void,
  ) {
    this.contextSize = facts.contextSize;
    this.toolDialect = facts.toolDialect;
    this.canSpeculate = facts.canSpeculate;
    this.notes = facts.notes;
    this.overhead = facts.overhead;
    this.replyMarks = facts.replyMarks;
    this.embedding = facts.embedding;
    this.embed = facts.embedding && ((texts, options) => this.#embed(texts, options));
    this.#supervisor = supervisor;
    this.#stats = stats;
    this.#onClose = onClose;
    this.supervision = {
      get fault() {
        return supervisor.fault;
      },
      async restart(callbacks) {
        if (!supervisor.fault) return;
        supervisor.forgetCrashes();
        await supervisor.start(callbacks);
      },
      turnFinished: () => supervisor.forgetCrashes(),
      onSlowLoad: supervisor.onSlowLoad,
    };
  }

  /** Loads a model. @throws Fault MODEL_LOAD_FAILED */
  static async load(
    options: Omit<SupervisorOptions, 'onStats'>,
    callbacks: LoadCallbacks,
    onClose: (model: SupervisedModel) => void,
  ): Promise<SupervisedModel> {
    const stats = new ProcessStats();
    let hasCrashed = false;
    const supervisor = new Supervisor({
      ...options,
      onStats(latest) {
        stats.set(latest);
        if (!hasCrashed) return;
        hasCrashed = false;
        // The new process begins with the first number of slots.
        void options.resizing?.requestMemory(totalMemory(latest.memory));
      },
      onCrash: (crash) => {
        hasCrashed = true;
        stats.processEnded();
        options.onCrash(crash);
      },
    });
    const { facts } = await supervisor.start(callbacks);
    return new SupervisedModel(facts, supervisor, stats, onClose);
  }

  async count(texts: readonly string[]): Promise<readonly number[]> {
    return this.#supervisor.run((model) => model.request('count', { texts }).result);
  }

  async #embed(texts: readonly string[], { signal, ...options }: EmbedOptions): Promise<Embeddings> {
    const embedding = this.#supervisor.run(async (model) => {
      signal.throwIfAborted();
      const request = model.request('embed', { texts, options });
      const abort = (): void => request.control('abort');
      signal.addEventListener('abort', abort);
      return request.result.finally(() => signal.removeEventListener('abort', abort));
    });
    return raceAbort(embedding, signal).catch((error: unknown) => {
      if (signal.aborted || !this.#supervisor.closing.aborted) throw error;
      throw new Fault('INFERENCE_FAILED', 'the embedding model was unloaded', { cause: error });
    });
  }

  async countTools(tools: ToolBlock): Promise<number> {
    return this.#supervisor.run((model) => model.request('countTools', { tools }).result);
  }

  async render(prompt: Prompt): Promise<string> {
    return this.#supervisor.run((model) => model.request('render', { prompt }).result);
  }

  async shrink(): Promise<void> {
    await this.#supervisor.run((model) => model.request('shrink', {}).result);
  }

  async describe(): Promise<ModelDetails> {
    const details = await this.#supervisor.run((model) => model.request('describe', {}).result);
    if (!details) throw new Fault('INTERNAL', 'the engine does not describe its model');
    return details;
  }

  openSequence({ label = '' }: SequenceOptions = {}): Sequence {
    const onClose = (closed: Sequence): void => void this.#sequences.delete(closed);
    const sequence = new SupervisedSequence({ id: ++this.#lastSequence, label }, this.#supervisor, onClose);
    this.#sequences.add(sequence);
    return sequence;
  }

  stats(): ModelStats {
    return { ...this.#stats.current, sequences: this.#sequences.size };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  async #close(): Promise<void> {
    await this.#supervisor[Symbol.asyncDispose]();
    await Promise.all([...this.#sequences].map((sequence) => sequence[Symbol.asyncDispose]()));
    this.#onClose(this);
  }
}

/** The statistics of a model over all its processes: counters never fall. */
class ProcessStats {
  #latest = noStats;
  #earlier = { statesSaved: 0, statesRestored: 0, promptsRestored: 0 };

  get current(): ModelStats {
    return {
      ...this.#latest,
      statesSaved: this.#earlier.statesSaved + this.#latest.statesSaved,
      statesRestored: this.#earlier.statesRestored + this.#latest.statesRestored,
      promptsRestored: this.#earlier.promptsRestored + this.#latest.promptsRestored,
    };
  }

  set(latest: ModelStats): void {
    this.#latest = latest;
  }

  processEnded(): void {
    const { statesSaved, statesRestored, promptsRestored } = this.current;
    this.#earlier = { statesSaved, statesRestored, promptsRestored };
    this.#latest = {
      ...noStats,
      backend: this.#latest.backend,
      slots: this.#latest.slots,
      memory: this.#latest.memory,
    };
  }
}
