// The rows of the benchmark, in the order in which they run.
import { stream } from './rows/stream.mjs';

export const rows = [stream];
