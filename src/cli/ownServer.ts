import type { Engine, Model, Sequence } from '../inference/contract/engine.ts';
import type { ServerOptions } from '../server/config.ts';
import type { TurngraphServer } from '../server/socket/server.ts';
import type { StartSettings } from '../server/start.ts';

/** Starts a server in this process, whose llama.cpp engine a command watches. */
export async function startWatchedServer(
  options: ServerOptions,
  watch: (engine: Engine) => Engine,
  { engines, ...settings }: StartSettings,
): Promise<TurngraphServer> {
  // Imported on demand: loading the engine takes time.
  const [{ start }, { cacheQuota, createLlamaEngine }, { createLog }, { Metrics }] = await Promise.all([
    import('../server/start.ts'),
    import('../server/llamaEngine.ts'),
    import('../base/log.ts'),
    import('../server/metrics/metrics.ts'),
  ]);
  const log = createLog({ level: options.logLevel, json: false });
  const quota = cacheQuota(options);
  const engine = watch(await createLlamaEngine(options, log, new Metrics(), quota));
  return start(options, { ...settings, log, quota, engines: { ...engines, 'llama-cpp': engine } });
}

/** Lets `watch` replace methods of each sequence of the models that an engine loads from now on. */
export function watchSequences(engine: Engine, watch: (sequence: Sequence) => Sequence): Engine {
  const load = engine.load.bind(engine);
  return Object.assign(engine, {
    async load(...given: Parameters<Engine['load']>): Promise<Model> {
      const model = await load(...given);
      const openSequence = model.openSequence.bind(model);
      return Object.assign(model, {
        openSequence: (...options: Parameters<Model['openSequence']>): Sequence => watch(openSequence(...options)),
      });
    },
  });
}
