// The two sides of the case `process`, and their results.
import { createResult } from '../results.mjs';

/** The two values of --engine-process. */
export const engines = ['child', 'in'];

/** Starts a server and a client for each engine; `open` makes a side of the client, for `measureInterleaved`. */
export async function openSides(bench, options, open) {
  const sides = {};
  for (const engine of engines) {
    const server = await startEngine(bench, engine, options);
    sides[engine] = await open(await bench.client(server));
  }
  return sides;
}

/** Starts a server whose models run in `engine`. */
export const startEngine = (bench, engine, { flags, ...options }) =>
  bench.server({ ...options, flags: { ...flags, 'engine-process': engine } });

/** A result of the case. */
export const processResult = (result) => createResult({ name: 'process', ...result });

/** The result of child / in. */
export const ratioResult = ({ child, inProcess, unit, ...result }) =>
  processResult({ ...result, ratio: child / inProcess, [`child${unit}`]: child, [`in${unit}`]: inProcess });
