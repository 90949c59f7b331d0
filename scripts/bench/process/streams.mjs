// Decode rate of one agent, as in the case `stream`; both sides must write the same texts.
import { streamLoads, streamSide, checkSameAnswers } from '../cases/stream.mjs';
import { decodeRate, totalRate } from '../client.mjs';
import { measureInterleaved, medianOf } from '../results.mjs';
import { openSides, ratioResult } from './sides.mjs';

const goals = { mid: 0.97, demo: 0.85 };
const slots = 4;

/** Measures mid and demo. */
export async function streams(bench) {
  const results = [];
  for (const model of ['mid', 'demo']) {
    bench.log(`stream, ${model}`);
    const file = await bench.file(model);
    const sides = await openSides(bench, { file, flags: { slots } }, (client) => streamSide(client, model));
    const rounds = await measureInterleaved(sides, bench.repeats(...streamLoads[model].repeats));
    checkSameAnswers(rounds.child, rounds.in);
    await bench.close();
    results.push(
      ratioResult({
        of: `stream, ${model}`,
        child: medianOf(rounds.child, decodeRate),
        inProcess: medianOf(rounds.in, decodeRate),
        unit: 'TokensPerSecond',
        goal: goals[model],
        better: 'higher',
        totalRatio: medianOf(rounds.child, totalRate) / medianOf(rounds.in, totalRate),
      }),
    );
  }
  return results;
}
