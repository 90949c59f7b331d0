import type { InferenceResult, Model, ModelStats, Sequence } from '../../inference/contract/engine.ts';

/** Callbacks for what a model does: one call per inference, none per token. */
export interface ModelObserver {
  /** A generation or a scoring of answers completed, also by abort. */
  onCompletion(completion: InferenceResult): void;
  /** A generation or a scoring of answers failed. */
  onFailure(): void;
  /** Called with each result of `stats()`, and once more before the model is disposed. */
  onStats(stats: ModelStats): void;
}

/** Wraps a model of any engine, and reports its inferences and stats to an observer. */
export function observeModel(model: Model, observer: ModelObserver): Model {
  const stats = (): ModelStats => {
    const current = model.stats();
    observer.onStats(current);
    return current;
  };
  return {
    get contextSize() {
      return model.contextSize;
    },
    get toolDialect() {
      return model.toolDialect;
    },
    get canSpeculate() {
      return model.canSpeculate;
    },
    get limits() {
      return model.limits ?? {};
    },
    get notes() {
      return model.notes;
    },
    get replyMarks() {
      return model.replyMarks;
    },
    get overhead() {
      return model.overhead;
    },
    count: (...args) => model.count(...args),
    countTools: (...args) => model.countTools(...args),
    render: (...args) => model.render(...args),
    openSequence: (...args) => observeSequence(model.openSequence(...args), observer),
    embedding: model.embedding,
    embed: model.embed?.bind(model),
    stats,
    get supervision() {
      return model.supervision;
    },
    shrink: model.shrink?.bind(model),
    describe: model.describe?.bind(model),
    async [Symbol.asyncDispose]() {
      try {
        stats();
      } finally {
        await model[Symbol.asyncDispose]();
      }
    },
  };
}

function observeSequence(sequence: Sequence, observer: ModelObserver): Sequence {
  const observe = async <T extends InferenceResult>(inference: Promise<T>): Promise<T> => {
    const completion = await inference.catch((error: unknown) => {
      observer.onFailure();
      throw error;
    });
    observer.onCompletion(completion);
    return completion;
  };
  return {
    label: sequence.label,
    generate: (...args) => observe(sequence.generate(...args)),
    score: (...args) => observe(sequence.score(...args)),
    prefill: (...args) => sequence.prefill(...args),
    [Symbol.asyncDispose]: () => sequence[Symbol.asyncDispose](),
  };
}
