import { describe, expect, it } from 'vitest';
import { crashingEngine, growth, script, stopAndCount, turnSeconds } from '../../scripts/stress/stoppedTurns.mjs';
import { connect } from '../../src/client/index.ts';
import { Fault } from '../../src/protocol/fault.ts';
import { scriptedEngine } from '../helpers/resultGraphs.ts';
import { startTestServer } from '../helpers/server.ts';

// npm run test:all stops 800 turns, and counts more: stoppedTurns.slow.test.ts.
describe('turns of all kinds that are stopped', () => {
  it('leave no timer, listener, promise, handle or file behind', async () => {
    const { engine, crash } = crashingEngine(scriptedEngine(script), Fault);
    await using server = await startTestServer({ resumeGrace: 0, turnTimeout: turnSeconds, engines: { mock: engine } });
    const size = { turns: 200, clients: 12, counted: ['functions', 'promises'] };
    const { tally, left, ...counts } = await stopAndCount({ server, connect, crash }, size);
    const ends = ['cancelled', 'inference_timeout', 'connection_dropped', 'engine_crashed'];
    expect(ends.filter((end) => !((tally[end] ?? 0) > 0))).toEqual([]);
    expect(left).toEqual([]);
    // Functions are also made by what is used for the first time.
    expect(growth(counts, 50)).toEqual([]);
  });
});
