import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { ProcessEngine, type ProcessEngineOptions } from '../../src/inference/process/engine.ts';
import type { EngineCrash } from '../../src/inference/process/supervisor.ts';
import { isRunning } from '../helpers/runningProcesses.ts';

/** An engine with processes of its own, what it reports, and a temporary folder. */
export interface ProcessEngineRig {
  /** The engine under test; a test may replace it. */
  engine: ProcessEngine;
  folder: string;
  /** All processes that were started. */
  pids: number[];
  crashes: EngineCrash[];
  /** Creates an engine that reports to this rig. */
  readonly open: (settings?: Partial<ProcessEngineOptions>) => ProcessEngine;
  /** The process that was started last. */
  readonly lastPid: () => number;
}

/**
 * Opens an engine before each test, and disposes of it afterwards: none of its processes may be left.
 * @param isShared whether all tests of a `describe` have the same engine.
 */
export function useProcessEngine(isShared = false): ProcessEngineRig {
  const open: ProcessEngineRig['open'] = (settings) =>
    new ProcessEngine({
      onStart: (pid) => rig.pids.push(pid),
      onCrash: (crash) => rig.crashes.push(crash),
      ...settings,
    });
  const rig: ProcessEngineRig = {
    engine: new ProcessEngine(),
    folder: '',
    pids: [],
    crashes: [],
    open,
    lastPid: () => rig.pids.at(-1) ?? 0,
  };
  const [before, after] = isShared ? [beforeAll, afterAll] : [beforeEach, afterEach];
  before(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    Object.assign(rig, { folder, pids: [], crashes: [], engine: open() });
  });
  after(async () => {
    await rig.engine[Symbol.asyncDispose]();
    const orphans = rig.pids.filter(isRunning);
    if (orphans.length > 0) throw new Error(`engine processes are left: ${orphans.join(', ')}`);
    await rm(rig.folder, { recursive: true, force: true });
  });
  return rig;
}
