import type { Engine, Model, Sequence, WarmUpResult } from '../inference/contract/engine.ts';

/** A prefill of a node of a graph. */
export interface NodePrefill extends WarmUpResult {
  readonly node: string;
}

/** Lets a listener know of each prefill of the models that an engine loads from now on. */
export function watchPrefills(engine: Engine, onPrefill: (prefill: NodePrefill) => void): Engine {
  const load = engine.load.bind(engine);
  return Object.assign(engine, {
    load: async (...given: Parameters<Engine['load']>): Promise<Model> => watchModel(await load(...given), onPrefill),
  });
}

function watchModel(model: Model, onPrefill: (prefill: NodePrefill) => void): Model {
  const openSequence = model.openSequence.bind(model);
  return Object.assign(model, {
    openSequence(...given: Parameters<Model['openSequence']>): Sequence {
      const sequence = openSequence(...given);
      const prefill = sequence.prefill.bind(sequence);
      return Object.assign(sequence, {
        async prefill(...options: Parameters<Sequence['prefill']>): Promise<WarmUpResult> {
          const result = await prefill(...options);
          onPrefill({ node: sequence.label, ...result });
          return result;
        },
      });
    },
  });
}
