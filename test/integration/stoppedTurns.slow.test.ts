import { describe, expect, it } from 'vitest';
import { crashingEngine, growth, script, stopAndCount, turnSeconds } from '../../scripts/stress/stoppedTurns.mjs';
import { connect } from '../../src/client/index.ts';
import { ProcessEngine } from '../../src/inference/process/engine.ts';
import { Fault } from '../../src/protocol/fault.ts';
import { scriptedEngine } from '../helpers/resultGraphs.ts';
import { whenEnded } from '../helpers/runningProcesses.ts';
import { startTestServer } from '../helpers/server.ts';

const model = 'turngraph-demo';

describe('hundreds of turns that are stopped', () => {
  it('leave no timer, listener, signal, promise, handle or file behind', async () => {
    const { engine, crash } = crashingEngine(scriptedEngine(script), Fault);
    await using server = await startTestServer({ resumeGrace: 0, turnTimeout: turnSeconds, engines: { mock: engine } });
    const size = { turns: 240, clients: 8, crashes: 30, tolerance: 20 };
    const { tally, left, ...counts } = await stopAndCount({ server, connect, crash }, size);
    expect(Object.keys(tally)).toEqual(
      expect.arrayContaining(['cancelled', 'connection_dropped', 'engine_crashed', 'inference_timeout']),
    );
    expect(left).toEqual([]);
    // All ways to end but the time limit have more turns than the tolerance; some dozens of signals are made only when agents are used again.
    expect(growth(counts, size.tolerance)).toEqual([]);
  });

  it('leave nothing behind where the engine processes of llama.cpp are killed', async () => {
    const pids: number[] = [];
    const engine = new ProcessEngine({ onStart: (pid) => pids.push(pid) });
    await using server = await startTestServer({ resumeGrace: 0, turnTimeout: 0.5, engines: { 'llama-cpp': engine } });
    // A model that crashes three times without a finished turn is given up. One may be too short for the load.
    const killAndRecover = async (): Promise<void> => {
      const pid = pids.at(-1) ?? 0;
      process.kill(pid, 'SIGKILL');
      await whenEnded(pid);
      await using client = await connect(server.url);
      const agent = await client.createAgent({ graphName: 'chat', defaultModelName: model });
      await agent.changeParams('answer', { sampling: { max_tokens: 1 } });
      const isFinished = (): Promise<boolean> => agent.send('Hello!').done.then(Boolean, () => false);
      while (!(await isFinished()));
    };
    let last = Promise.resolve();
    const crash = (): Promise<void> => (last = last.then(killAndRecover));
    // A signal and functions of a sequence are made when they are first needed.
    const counted = ['timers', 'listeners', 'promises'];
    const size = { turns: 48, clients: 3, crashes: 2, firstCrashes: 1, tolerance: 10, counted };
    const { tally, left, ...counts } = await stopAndCount({ server, connect, model, crash }, size);
    expect(Object.keys(tally)).toEqual(expect.arrayContaining(['cancelled', 'connection_dropped']));
    expect(left).toEqual([]);
    expect(growth(counts, size.tolerance)).toEqual([]);
  });
});
