// The rows of the benchmark, in the order in which they run.
import { batch } from './rows/batch.mjs';
import { nextTurn } from './rows/nextTurn.mjs';
import { stream } from './rows/stream.mjs';
import { threads } from './rows/threads.mjs';
import { turn } from './rows/turn.mjs';

export const rows = [stream, batch, nextTurn, threads, turn];
