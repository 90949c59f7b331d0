import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Socket } from 'node:net';
import { settledWithin } from '../../base/abort.ts';
import { describeError, Fault } from '../../protocol/fault.ts';
import type { EngineProcessSettings } from './engineServer.ts';
import type { SlotResizing, ModelStats } from '../contract/memory.ts';
import type { EngineRequests, ServerRequests } from './messages.ts';
import { Peer, type RunningRequest } from './peer.ts';
import type { CacheFiles } from '../llama/cacheFiles.ts';
import { guardDescriptor } from './guard.ts';
import { SentPaces } from './paces.ts';
import { fileService } from './fileServices.ts';
import { Watchdog, type WatchdogLimits } from './watchdog.ts';

export interface ProcessEnd {
  /** killed: by this process, on purpose. */
  readonly reason: 'crash' | 'hang' | 'killed';
  /** Continues "the engine process ...". */
  readonly description: string;
}

/** A request failed because its process has ended. */
export class EngineCrashedFault extends Fault {
  readonly end: ProcessEnd;

  constructor(end: ProcessEnd) {
    super('ENGINE_CRASHED', `the engine process ${end.description}; try again: a new one takes over`);
    this.end = end;
  }
}

/** Who hears of the model of a process, and of the end of the process before its pending requests are rejected. */
interface ProcessListener {
  /** Its statistics have changed. */
  readonly onStats: (stats: ModelStats) => void;
  /** Undefined: its number of slots is fixed. */
  readonly resizing: SlotResizing | undefined;
  /** The process has crashed or hung. `isBlamed` is false when only estimates for other models were pending. */
  readonly onCrash: (end: ProcessEnd, isBlamed: boolean) => void;
}

export interface EngineProcessOptions extends Pick<EngineProcessSettings, 'timingsFolder' | 'priority' | 'gpuDevice'> {
  /** Undefined: nothing is written to disk. */
  readonly files: CacheFiles | undefined;
  readonly watchdog: WatchdogLimits;
  /** Receives the id of each process that is started. */
  readonly onStart: (pid: number) => void;
}

const stderrTailLength = 2000;
const maxStderrWaitMs = 200;

/** They load the library, as a load does, and their crash is no fault of the model that is loaded in the process. */
const requestsOfNoModel: readonly (keyof EngineRequests)[] = ['prepare', 'estimate', 'readHardware'];

/** An engine process, as the server process sees it. One model is loaded in it, and the process ends with it. */
export class EngineProcess {
  /** Resolves when the process has ended and its files are deleted. Never rejects. */
  readonly ended: Promise<ProcessEnd>;
  readonly paces = new SentPaces(
    (id, limits) => {
      this.#peer.tell('setPace', { id, limits });
      this.#watch();
    },
    () => this.#watch(),
  );
  readonly #child: ChildProcess;
  readonly #peer: Peer<EngineRequests, ServerRequests>;
  readonly #watchdog: Watchdog;
  /** The pending requests, and whether they concern its model. */
  readonly #requests = new Map<object, boolean>();
  #listener: ProcessListener | undefined;
  #loads = 0;
  #stderr = '';
  #hang: string | undefined;
  #killed = false;
  #alive = true;

  /** @throws Fault MODEL_LOAD_FAILED when the process cannot be started now. */
  constructor(options: EngineProcessOptions) {
    const { files, watchdog, onStart, ...settings } = options;
    const own = { serverPid: process.pid, writesFiles: files !== undefined, heartbeatMs: watchdog.tickMs };
    this.#child = startProcess({ ...settings, ...own });
    const service = fileService(files, (path) => this.#peer.tell('stateEvicted', { path }));
    this.#peer = new Peer<EngineRequests, ServerRequests>(
      (messages) => {
        // A process that has ended is noticed by `ended`.
        if (this.#child.connected) this.#child.send([...messages], () => undefined);
      },
      {
        ...service.handlers,
        stats: ({ params: { stats } }) => this.#listener?.onStats(stats),
        requestMemory: async ({ params: { use } }) => (await this.#listener?.resizing?.requestMemory(use)) ?? false,
        resized: ({ params: { stats } }) => {
          this.#listener?.onStats(stats);
          this.#listener?.resizing?.onResized(stats);
        },
        heartbeat: ({ params }) => this.#watchdog.onHeartbeat(params),
      },
    );
    this.#watchdog = new Watchdog(watchdog, (seconds) => {
      this.#hang = `did not answer for ${seconds} s`;
      this.#child.kill('SIGKILL');
    });
    this.#child.on('message', (messages: readonly unknown[]) => {
      this.#watchdog.heard();
      this.#peer.receive(messages);
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-stderrTailLength);
    });
    const guard = this.#child.stdio[guardDescriptor];
    if (guard instanceof Socket)
      guard
        .on('data', () => this.#watchdog.guardHeard())
        .on('error', () => {})
        .unref();
    this.ended = this.#whenEnded().then(async (end) => {
      this.#watchdog.stop();
      const isBlamed = this.#requests.size === 0 || [...this.#requests.values()].includes(true);
      if (end.reason !== 'killed') this.#listener?.onCrash(end, isBlamed);
      this.#peer.close(new EngineCrashedFault(end));
      await service[Symbol.asyncDispose]();
      return end;
    });
    this.#keepAlive(false);
    const { pid } = this.#child;
    if (pid !== undefined) onStart(pid);
  }

  /** Whether the process has not ended yet. */
  get alive(): boolean {
    return this.#alive && !this.#killed;
  }

  /** Who hears of the model that is loaded in it from now on. */
  listen(listener: ProcessListener): void {
    this.#listener = listener;
  }

  /** Sends a request; the watchdog runs until it is answered, unless it is paused. */
  request<Name extends keyof EngineRequests & string>(
    name: Name,
    params: EngineRequests[Name]['params'],
    onEvent?: (event: EngineRequests[Name]['event']) => void,
  ): RunningRequest<EngineRequests[Name]> {
    const request = this.#peer.request(name, params, (event) => {
      this.#watchdog.progressed();
      onEvent?.(event);
    });
    const isOfModel = !requestsOfNoModel.includes(name);
    this.#requests.set(request, isOfModel);
    const isLoad = name === 'load' || !isOfModel;
    if (isLoad) this.#watchdog.isLoading = ++this.#loads > 0;
    this.#watch();
    this.#keepAlive(true);
    const done = (): void => {
      this.#requests.delete(request);
      if (isLoad) this.#watchdog.isLoading = --this.#loads > 0;
      this.#watchdog.progressed();
      this.#watch();
      if (this.#requests.size === 0) this.#keepAlive(false);
    };
    request.result.then(done, done);
    return request;
  }

  /** Ends the process now, whatever it does. No one is told of its model afterwards. */
  async kill(): Promise<void> {
    this.#listener = undefined;
    this.#killed = true;
    this.#child.ref();
    this.#child.kill('SIGKILL');
    await this.ended;
  }

  #watch(): void {
    if (this.#alive && this.#requests.size > this.paces.paused) this.#watchdog.start();
    else this.#watchdog.stop();
  }

  /** The process keeps this one alive only while an answer is awaited. */
  #keepAlive(isNeeded: boolean): void {
    for (const handle of [this.#child, this.#child.channel]) {
      if (isNeeded) handle?.ref();
      else handle?.unref();
    }
  }

  async #whenEnded(): Promise<ProcessEnd> {
    const how = await new Promise<string>((resolve) => {
      // A signal or a message that could not be sent: `exit` follows.
      this.#child.on('error', () => undefined);
      this.#child.once('exit', (code, signal) => {
        this.#alive = false;
        resolve(signal ? `ended with ${signal}` : `ended with code ${code}`);
      });
    });
    if (this.#killed) return { reason: 'killed', description: 'was ended' };
    if (this.#hang !== undefined) return { reason: 'hang', description: this.#hang };
    // What the process has written last says why it crashed.
    const { stderr } = this.#child;
    if (stderr && !stderr.readableEnded) await settledWithin(maxStderrWaitMs, once(stderr, 'close'));
    const message = /(?:GGML_ASSERT|^.*[Ee]rror).*/m.exec(this.#stderr)?.[0].trim();
    return { reason: 'crash', description: message ? `${how}: ${message}` : how };
  }
}

/** The main file of an engine process: compiled, also when this file is run from its source. */
const engineProcessFile = fileURLToPath(new URL('../../../dist/inference/process/child.js', import.meta.url));

/** Starts an engine process. @throws Fault MODEL_LOAD_FAILED when it cannot be started now, which is no fault of a model. */
function startProcess(settings: EngineProcessSettings): ChildProcess {
  if (!existsSync(engineProcessFile)) {
    throw new Fault(
      'MODEL_LOAD_FAILED',
      `the file of the engine process is missing: ${engineProcessFile}; install the whole package, or use --engine-process in`,
    );
  }
  let child: ChildProcess;
  try {
    // Not `fork`, whose types lack `windowsHide`: without it a console window opens for a server that has none.
    child = spawn(process.execPath, [engineProcessFile, JSON.stringify(settings)], {
      serialization: 'advanced',
      // The last one is the guard's.
      stdio: ['ignore', 'ignore', 'pipe', 'ipc', 'pipe'],
      windowsHide: true,
      env: engineEnvironment(process.env, settings.gpuDevice),
    });
  } catch (error) {
    throw startFault(describeError(error));
  }
  if (child.pid !== undefined) return child;
  // The reason follows as an event, too late for the caller.
  child.on('error', () => undefined);
  child.channel?.unref();
  throw startFault(`there is no process or file handle left for it, or ${process.execPath} is missing`);
}

/**
 * The environment variables of an engine process. One libuv worker, unless the user has set their number: llama.cpp starts the
 * other threads of a step anew each time. If several workers take turns, Linux often starts such a thread on the core of
 * the worker itself, where both wait for each other up to 30 ms, while another core is idle.
 * @param gpuDevice the card that llama.cpp's backends see. Metal has no such variable: there is one card.
 */
export function engineEnvironment(own: NodeJS.ProcessEnv, gpuDevice: number | undefined): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: nodeOptions, ...others } = own;
  return {
    UV_THREADPOOL_SIZE: '1',
    ...others,
    // Not the debugger of this process: it has one port, and a process that waits for a debugger is taken for one that hangs.
    ...(nodeOptions !== undefined && { NODE_OPTIONS: nodeOptions.replaceAll(/(?<!\S)--inspect\S* ?/g, '') }),
    ...(gpuDevice !== undefined && {
      CUDA_VISIBLE_DEVICES: String(gpuDevice),
      GGML_VK_VISIBLE_DEVICES: String(gpuDevice),
    }),
    ELECTRON_RUN_AS_NODE: '1',
  };
}

const startFault = (reason: string): Fault =>
  new Fault('MODEL_LOAD_FAILED', `the engine process cannot be started: ${reason}; close other programs and try again`);
