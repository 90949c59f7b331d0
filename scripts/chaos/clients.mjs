// Runs a case once for each client library and each encoding, as far as this machine has them.
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findPython, missingFor } from '../../test/helpers/requirements.mjs';
import { TcpProxy } from '../../test/helpers/tcpProxy.mjs';
import { createRng } from '../seededRandom.mjs';
import { drivers } from './drivers.mjs';
import { SessionRecorder } from './sessionRecorder.mjs';

const codecs = /** @type {const} */ (['proto', 'json']);
const protoFolder = fileURLToPath(new URL('../../proto/turngraph/v1', import.meta.url));

/**
 * A session through a proxy that cuts its connections.
 * @typedef {object} CutSession
 * @property {import('./drivers.mjs').Driver} driver
 * @property {TcpProxy} proxy
 * @property {SessionRecorder} recorder
 * @property {'proto' | 'json'} codec
 * @property {(line: string) => void} log
 */

/**
 * Runs `work` with a session of each client and codec, one after the other. What it throws is a fault.
 * @param {{ port: number, seed: number, log: (line: string) => void }} options `port`: of the server.
 * @param {(session: CutSession) => Promise<Record<string, number>>} work Returns the figures.
 */
export async function runEachClient({ port, seed, log }, work) {
  const missing = missingFor('pythonClient');
  const notes = missing.length > 0 ? [`the Python client was left out: missing ${missing.join(' and ')}`] : [];
  const wireFolder = await mkdtemp(join(tmpdir(), 'turngraph-chaos-'));
  const python = findPython('websockets', 'google.protobuf') ?? 'python3';
  if (missing.length === 0) execFileSync('protoc', ['-I', protoFolder, `--python_out=${wireFolder}`, 'wire.proto']);
  /** @type {string[]} */
  const faults = [];
  /** @type {Record<string, Record<string, number>>} */
  const figures = {};
  const kinds = /** @type {const} */ (['typescript', ...(missing.length === 0 ? ['python'] : [])]);
  for (const [kind, codec] of kinds.flatMap((one) => codecs.map((codec) => /** @type {const} */ ([one, codec])))) {
    const title = `${kind} over ${codec}`;
    const fail = (/** @type {string} */ message) => faults.push(`${title}: ${message}`);
    const proxy = await TcpProxy.start(`ws://127.0.0.1:${port}`, { random: createRng(seed) });
    const recorder = new SessionRecorder();
    try {
      const driver = await drivers[kind]({ url: proxy.url, codec, recorder, python, wireFolder });
      const parts = { driver, proxy, recorder, codec, log: (line) => log(`${title}: ${line}`) };
      figures[title] = await work(parts);
      recorder.expectAllAnswered();
      await driver.close();
    } catch (error) {
      fail(error.message);
    }
    await proxy.stop();
    figures[title] = { ...figures[title], ...recorder.figures };
    recorder.faults.forEach(fail);
  }
  await rm(wireFolder, { recursive: true });
  return { figures, notes, faults };
}
