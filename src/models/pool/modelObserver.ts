import type { Completion, Model, ModelStats, Sequence } from '../../engine/engine.ts';

/** Hears of what a model does: once for each generation, never for a token. */
export interface ModelObserver {
  onCompletion(completion: Completion): void;
  /** A generation ended with an error. */
  onFailure(): void;
  /** Called with the figures whenever somebody reads them, and once more before the model goes. */
  onStats(stats: ModelStats): void;
}

/** A model of any engine, watched in what it does. */
export function observeModel(model: Model, watch: ModelObserver): Model {
  const stats = (): ModelStats => {
    const read = model.stats();
    watch.onStats(read);
    return read;
  };
  return {
    get contextSize() {
      return model.contextSize;
    },
    get detectedFormat() {
      return model.detectedFormat;
    },
    get notes() {
      return model.notes;
    },
    get overhead() {
      return model.overhead;
    },
    count: (...given) => model.count(...given),
    countTools: (...given) => model.countTools(...given),
    render: (...given) => model.render(...given),
    openSequence: (...given) => observeSequence(model.openSequence(...given), watch),
    stats,
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

const observeSequence = (sequence: Sequence, watch: ModelObserver): Sequence => ({
  async generate(...given) {
    const completion = await sequence.generate(...given).catch((error: unknown) => {
      watch.onFailure();
      throw error;
    });
    watch.onCompletion(completion);
    return completion;
  },
  prefill: (...given) => sequence.prefill(...given),
  [Symbol.asyncDispose]: () => sequence[Symbol.asyncDispose](),
});
