// The benchmark cases, in the order in which they run: one line each.
import { batch } from './cases/batch.mjs';
import { cancel } from './cases/cancel.mjs';
import { cast } from './cases/cast.mjs';
import { detect } from './cases/detect.mjs';
import { firstTurn } from './cases/firstTurn.mjs';
import { guest } from './cases/guest.mjs';
import { memory } from './cases/memory.mjs';
import { nextTurn } from './cases/nextTurn.mjs';
import { peers } from './cases/peers.mjs';
import { priority } from './cases/priority.mjs';
import { process } from './cases/process.mjs';
import { retrieve } from './cases/retrieve.mjs';
import { slots } from './cases/slots.mjs';
import { speculate } from './cases/speculate.mjs';
import { start } from './cases/start.mjs';
import { stream } from './cases/stream.mjs';
import { strictCall } from './cases/strictCall.mjs';
import { threads } from './cases/threads.mjs';
import { summary } from './cases/summary.mjs';
import { turn } from './cases/turn.mjs';
import { warmStart } from './cases/warmStart.mjs';

/**
 * One case of the benchmark; `bench` is what `openBench` of bench.mjs returns.
 * @typedef {object} BenchCase
 * @property {string} name
 * @property {(options: object) => boolean} [needs] Whether the options have what it needs; it is left out without.
 * @property {(bench: object) => Promise<readonly import('./results.mjs').BenchResult[]>} run
 */

/** @type {readonly BenchCase[]} */
export const cases = [
  stream,
  batch,
  firstTurn,
  nextTurn,
  warmStart,
  cast,
  threads,
  slots,
  strictCall,
  speculate,
  turn,
  detect,
  retrieve,
  cancel,
  priority,
  summary,
  guest,
  start,
  memory,
  process,
  peers,
];
