import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Fault, describeError } from '../../protocol/fault.ts';
import { deviceEnvironment } from './deviceEnvironment.ts';
import type { EngineProcessSettings } from './engineServer.ts';

/** The main file of an engine process: compiled, also when this file is run from its source. */
const engineProcessFile = fileURLToPath(new URL('../../../dist/inference/process/child.js', import.meta.url));

/** Starts an engine process. @throws Fault MODEL_LOAD_FAILED when it cannot be started now, which is no fault of a model. */
export function startProcess(settings: EngineProcessSettings): ChildProcess {
  if (!existsSync(engineProcessFile)) {
    throw new Fault(
      'MODEL_LOAD_FAILED',
      `the file of the engine process is missing: ${engineProcessFile}; install the whole package, or use --engine-process in`,
    );
  }
  const child = spawnChild(settings);
  if (child.pid !== undefined) return child;
  // The reason follows as an event, too late for the caller.
  child.on('error', () => undefined);
  child.channel?.unref();
  throw startFault(`there is no process or file handle left for it, or ${process.execPath} is missing`);
}

// Not `fork`, whose types lack `windowsHide`: without it a console window opens for a server that has none.
function spawnChild(settings: EngineProcessSettings): ChildProcess {
  const { NODE_OPTIONS: nodeOptions, ...environment } = process.env;
  try {
    return spawn(process.execPath, [engineProcessFile, JSON.stringify(settings)], {
      serialization: 'advanced',
      // The last one is the guard's.
      stdio: ['ignore', 'ignore', 'pipe', 'ipc', 'pipe'],
      windowsHide: true,
      env: {
        ...environment,
        // Not the debugger of this process: it has one port, and a process that waits for a debugger is taken for one that hangs.
        ...(nodeOptions !== undefined && { NODE_OPTIONS: withoutDebugger(nodeOptions) }),
        ...deviceEnvironment(settings.gpuDevice),
        ELECTRON_RUN_AS_NODE: '1',
      },
    });
  } catch (error) {
    throw startFault(describeError(error));
  }
}

const withoutDebugger = (nodeOptions: string): string =>
  nodeOptions
    .split(' ')
    .filter((option) => !option.startsWith('--inspect'))
    .join(' ');

const startFault = (reason: string): Fault =>
  new Fault('MODEL_LOAD_FAILED', `the engine process cannot be started: ${reason}; close other programs and try again`);
