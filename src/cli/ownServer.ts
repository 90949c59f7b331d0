import { withMembers } from '../base/withMembers.ts';
import type { Engine, Sequence } from '../inference/contract/engine.ts';
import type { TurngraphServer } from '../server/socket/server.ts';
import type { start } from '../server/start.ts';

/** Starts a server in this process. It is imported on demand: loading the engine takes time. */
export const startOwnServer = async (...given: Parameters<typeof start>): Promise<TurngraphServer> =>
  (await import('../server/start.ts')).start(...given);

/** Lets `watch` replace each sequence of the models that an engine loads. */
export const watchSequences = (engine: Engine, watch: (sequence: Sequence) => Sequence): Engine =>
  withMembers(engine, {
    async load(...given) {
      const model = await engine.load(...given);
      return withMembers(model, { openSequence: (...options) => watch(model.openSequence(...options)) });
    },
  });
