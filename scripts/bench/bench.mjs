// What a row is given to measure with; whatever it opens is closed behind it.
import { availableParallelism } from 'node:os';
import { startBare } from './baseline.mjs';
import { connected } from './client.mjs';
import { modelFile } from './models.mjs';
import { startServer } from './server.mjs';

/**
 * @param quick fewer repeats.
 * @param threads of both sides of a ratio; 0 = half the cores.
 * @param profile a folder: servers write a profile of the processor into it when they end.
 * @param log takes a line of progress.
 */
export function openBench({ quick = false, threads = 0, profile, log = () => {} }) {
  const open = [];
  const kept = (one) => {
    open.push(one);
    return one;
  };
  const own = threads || Math.max(1, Math.floor(availableParallelism() / 2));
  const nodeFlags = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
  return {
    quick,
    log,
    threads: own,
    cores: availableParallelism(),
    /** Repeats: as many, or with --quick as few. */
    repeats: (many, few) => (quick ? few : many),
    file: (model) => modelFile(model, log),
    /** A server with a model; its threads are the bench's own unless `flags` say otherwise (undefined = not told). */
    async server({ flags = {}, ...options }) {
      const all = Object.entries({ threads: own, ...flags }).filter(([, value]) => value !== undefined);
      return kept(await startServer({ nodeFlags, ...options, flags: Object.fromEntries(all) }));
    },
    bare: async (options) => kept(await startBare({ threads: own, contextSize: 0, sequences: 1, ...options })),
    async client(server, options) {
      return kept(await connected(server, options));
    },
    /** Has something closed at the end of the row; gives it back. */
    kept,
    async close() {
      for (const one of open.splice(0).toReversed()) await one.close();
    },
  };
}
