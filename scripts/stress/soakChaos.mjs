// Chaos for the soak test: cuts the connections of a proxy, and kills or stops engine processes, all the time.
import { setTimeout as wait } from 'node:timers/promises';
import { TcpProxy } from '../../test/helpers/tcpProxy.mjs';
import { findEngineProcesses, signalProcess } from '../chaos/processes.mjs';
import { createRng } from '../seededRandom.mjs';

const [minCutMs, maxCutMs] = [100, 1000];
const maxBytesBeforeCut = 4000;
const [minKillMs, maxKillMs] = [10_000, 30_000];
/** One in so many processes is stopped instead of killed: the server has to find out that it hangs. */
const oneStoppedIn = 6;

/**
 * Starts the chaos on a server. `url` is that of the proxy.
 * @param {{ port: number, pid: number }} server
 * @param {number} seed
 */
export async function startChaos(server, seed) {
  const proxy = await TcpProxy.start(`ws://127.0.0.1:${server.port}`, { random: createRng(seed) });
  const rng = createRng(seed);
  const end = new AbortController();
  const counts = { cuts: 0, killed: 0, stopped: 0 };
  /** Repeats work after random waits until the end. */
  const repeat = async (minMs, maxMs, work) => {
    while (!end.signal.aborted) {
      await wait(rng.between(minMs, maxMs), undefined, { signal: end.signal }).catch(() => undefined);
      if (!end.signal.aborted) await work();
    }
  };
  const cut = () => {
    const direction = rng.oneIn(3) ? 'toServer' : 'toClient';
    proxy.cutAfter(direction, 1 + rng.below(maxBytesBeforeCut));
  };
  const kill = async () => {
    const [pid] = await findEngineProcesses(server.pid);
    if (pid === undefined) return;
    const isStopped = rng.oneIn(oneStoppedIn);
    if (signalProcess(pid, isStopped ? 'SIGSTOP' : 'SIGKILL')) counts[isStopped ? 'stopped' : 'killed']++;
  };
  const running = [repeat(minCutMs, maxCutMs, cut), repeat(minKillMs, maxKillMs, kill)];
  return {
    url: proxy.url,
    counts: () => ({ ...counts, cuts: proxy.cuts }),
    /** Ends the chaos; connections through the proxy stay. */
    async stop() {
      end.abort();
      await Promise.all(running);
      proxy.cutAfter('toClient');
    },
    close: () => proxy.stop(),
  };
}
