// The benchmark harness: starts servers, baselines and clients for a case and closes them after it.
import { availableParallelism } from 'node:os';
import { startBaseline } from './baseline.mjs';
import { connectClient } from './client.mjs';
import { modelFile } from './models.mjs';
import { startServer } from './server.mjs';

/**
 * @param quick fewer repeats.
 * @param threads threads of both sides of a ratio; 0 = half the cores.
 * @param profile a folder: servers write a CPU profile into it when they exit.
 * @param llamaServer path of a llama-server to compare with.
 * @param model a GGUF file, for the case peers.
 * @param log takes a line of progress.
 */
export function openBench({ quick = false, threads = 0, profile, llamaServer, model, log = () => {} }) {
  const open = [];
  const closeAtEnd = (resource) => {
    open.push(resource);
    return resource;
  };
  const usedThreads = threads || Math.max(1, Math.floor(availableParallelism() / 2));
  const nodeFlags = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
  return {
    quick,
    llamaServer,
    model,
    log,
    threads: usedThreads,
    cores: availableParallelism(),
    /** The number of repeats: `many`, or with --quick `few`. */
    repeats: (many, few) => (quick ? few : many),
    file: (model) => modelFile(model, log),
    /** Starts a server with a model; `flags` may override its threads (undefined = the server's default). */
    async server({ flags = {}, ...options }) {
      const all = Object.entries({ threads: usedThreads, ...flags }).filter(([, value]) => value !== undefined);
      return closeAtEnd(await startServer({ nodeFlags, ...options, flags: Object.fromEntries(all) }));
    },
    baseline: async (options) =>
      closeAtEnd(await startBaseline({ threads: usedThreads, contextSize: 0, sequences: 1, ...options })),
    async client(server, options) {
      return closeAtEnd(await connectClient(server, options));
    },
    /** Registers a resource to be closed at the end of the case; returns it. */
    closeAtEnd,
    async close() {
      for (const resource of open.splice(0).toReversed()) await resource.close();
    },
  };
}
