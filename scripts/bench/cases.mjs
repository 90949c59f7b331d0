// The rows of the benchmark, in the order in which they run: one line each.
import { batch } from './cases/batch.mjs';
import { cancel } from './cases/cancel.mjs';
import { detect } from './cases/detect.mjs';
import { nextTurn } from './cases/nextTurn.mjs';
import { slots } from './cases/slots.mjs';
import { start } from './cases/start.mjs';
import { stream } from './cases/stream.mjs';
import { strictCall } from './cases/strictCall.mjs';
import { threads } from './cases/threads.mjs';
import { turn } from './cases/turn.mjs';

export const rows = [stream, batch, nextTurn, threads, slots, strictCall, turn, detect, cancel, start];
