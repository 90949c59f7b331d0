// The rows of the benchmark, in the order in which they run: one line each.
import { batch } from './rows/batch.mjs';
import { cancel } from './rows/cancel.mjs';
import { detect } from './rows/detect.mjs';
import { nextTurn } from './rows/nextTurn.mjs';
import { slots } from './rows/slots.mjs';
import { start } from './rows/start.mjs';
import { stream } from './rows/stream.mjs';
import { strictCall } from './rows/strictCall.mjs';
import { threads } from './rows/threads.mjs';
import { turn } from './rows/turn.mjs';

export const rows = [stream, batch, nextTurn, threads, slots, strictCall, turn, detect, cancel, start];
