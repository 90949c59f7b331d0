import type { Completion, Model, ModelFigures, Sequence } from '../../engine/engine.ts';

/** Hears of what a model does: once for each generation, never for a token. */
export interface ModelWatch {
  generated(completion: Completion): void;
  /** A generation ended with an error. */
  failed(): void;
  /** Called with the figures whenever somebody reads them, and once more before the model goes. */
  figures(figures: ModelFigures): void;
}

/** A model of any engine, watched in what it does. */
export function observed(model: Model, watch: ModelWatch): Model {
  const figures = (): ModelFigures => {
    const read = model.figures();
    watch.figures(read);
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
    openSequence: (...given) => observedSequence(model.openSequence(...given), watch),
    figures,
    describe: model.describe?.bind(model),
    async [Symbol.asyncDispose]() {
      try {
        figures();
      } finally {
        await model[Symbol.asyncDispose]();
      }
    },
  };
}

const observedSequence = (sequence: Sequence, watch: ModelWatch): Sequence => ({
  async generate(...given) {
    const completion = await sequence.generate(...given).catch((error: unknown) => {
      watch.failed();
      throw error;
    });
    watch.generated(completion);
    return completion;
  },
  warm: (...given) => sequence.warm(...given),
  [Symbol.asyncDispose]: () => sequence[Symbol.asyncDispose](),
});
