import type { Engine, LoadOptions, Model } from '../../src/inference/contract/engine.ts';

/** An engine that reports each text that its models embed. */
export function watchEmbeddings(engine: Engine, report: (text: string) => void): Engine {
  const load = engine.load.bind(engine);
  return Object.assign(engine, {
    load: async (file: string, options: LoadOptions): Promise<Model> => {
      const model = await load(file, options);
      const embed = model.embed?.bind(model);
      if (!embed) return model;
      return Object.assign(model, {
        embed: (...given: Parameters<typeof embed>) => {
          given[0].forEach(report);
          return embed(...given);
        },
      });
    },
  });
}
