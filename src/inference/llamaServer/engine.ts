import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { EitherSignal, raceAbort } from '../../base/abort.ts';
import { describeError, Fault } from '../../protocol/fault.ts';
import type { Engine, LoadOptions, Model } from '../contract/engine.ts';
import type { LoadPlan } from '../contract/memory.ts';
import { type LoraFile, type ModelSupervision, splitFileNames } from '../contract/model.ts';
import { Listeners } from '../../base/events.ts';
import { slowLoadMs } from '../contract/pace.ts';
import type { ProcessEngineOptions } from '../process/engine.ts';
import { CrashCounts } from '../process/supervisor.ts';
import { defaultTimeouts } from '../remote/connection/httpConnection.ts';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { ProcessEnd } from '../process/engineProcess.ts';

export interface LlamaServerOptions extends Pick<ProcessEngineOptions, 'onStart' | 'onCrash'> {
  /** Path of the binary, or its name on the PATH. */
  readonly binary: string;
}

/** Of its own, as long as it is not asked. */
const defaultSlots = 4;
const defaultContextSize = 8192;
const firstBackoffMs = 1000;

/** Runs each model in a llama-server of its own, which it starts and supervises. */
export class LlamaServerEngine implements Engine {
  readonly name = 'llama-server';
  readonly needsFiles = true;
  readonly estimate = planOf;
  readonly #options: LlamaServerOptions;
  readonly #crashes = new CrashCounts();
  readonly #closing = new AbortController();
  /** Models, and processes in which one is being loaded. */
  readonly #open = new Set<AsyncDisposable>();

  constructor(options: LlamaServerOptions) {
    this.#options = options;
  }

  async load(file: string, options: LoadOptions): Promise<Model> {
    if (options.purpose === 'embedding')
      throw new Fault('MODEL_LOAD_FAILED', 'the llama-server engine computes no embeddings: use the engine llama-cpp');
    if (options.afterCrashes) this.#crashes.reset(file);
    const given = this.#crashes.fault(file);
    if (given) throw given;
    using abort = new EitherSignal([options.signal, this.#closing.signal]);
    const { signal } = abort;
    const plan = await planOf(file, options);
    const server = new ServerProcess(await freePort(), {
      binary: this.#options.binary,
      args: argumentsFor(file, options, plan),
      loras: options.loras ?? [],
      onStart: (pid) => this.#options.onStart?.(pid),
      onCrash: (end) => {
        const count = this.#crashes.add(file);
        this.#options.onCrash?.({ file, end, count });
        return this.#crashes.fault(file) ?? (count > 1 ? firstBackoffMs * 2 ** (count - 2) : 0);
      },
    });
    this.#open.add(server);
    try {
      await server.ready(signal);
      const { loadRemoteModel } = await import('../remote/loadRemoteModel.ts');
      const model = await loadRemoteModel(
        { api: 'llama-server', baseUrls: [server.url], apiKeyEnv: keyName, model: undefined, templateFile: undefined },
        {
          contextSize: plan.contextSize,
          slots: 0,
          signal,
          timeouts: defaultTimeouts,
          environment: { [keyName]: server.key },
          own: {
            ready: (waiting) => server.ready(waiting),
            sharesCells: !options.slots,
            memory: plan,
            supervision: this.#supervise(file, server),
          },
          onClose: async (closed) => {
            this.#open.delete(closed);
            await server[Symbol.asyncDispose]();
          },
        },
      );
      this.#open.add(model);
      options.onProgress?.(1);
      return model;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      const why = signal.aborted ? 'it was cancelled' : describeError(error);
      throw new Fault('MODEL_LOAD_FAILED', `${file} cannot be loaded in a llama-server: ${why}`, { cause: error });
    } finally {
      this.#open.delete(server);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await Promise.all([...this.#open].map((open) => open[Symbol.asyncDispose]()));
  }

  #supervise(file: string, server: ServerProcess): ModelSupervision {
    const crashes = this.#crashes;
    const slowLoads = new Listeners();
    return {
      get fault() {
        return crashes.fault(file);
      },
      async restart({ signal }) {
        crashes.reset(file);
        const timer = setInterval(() => slowLoads.call(), slowLoadMs);
        await raceAbort(server.restart(), signal).finally(() => clearInterval(timer));
      },
      turnFinished: () => crashes.reset(file),
      onSlowLoad: slowLoads.add,
    };
  }
}

const keyName = 'LLAMA_API_KEY';

async function planOf(file: string, options: LoadOptions): Promise<LoadPlan> {
  const { contextSize, slots, kvCacheType = 'f16', loras = [] } = options;
  // Imported on demand: it loads the library, of which a server without such models needs nothing.
  const { readKvCacheShape } = await import('../llama/gguf/metadata.ts');
  const { checkLoras } = await import('../llama/loras.ts');
  const loraBytes = await checkLoras(file, loras);
  const shape = await readKvCacheShape(file);
  const tokens = contextSize || Math.min(defaultContextSize, shape?.trainedContext ?? Infinity);
  const slotBytes = tokens * (shape?.bytesPerToken ?? 0) * kvCacheShares[kvCacheType];
  const parts = splitFileNames(basename(file)).map((name) => stat(join(dirname(file), name)));
  const weights = (await Promise.all(parts)).reduce((sum, { size }) => sum + size, loraBytes);
  return {
    slots: slots || defaultSlots,
    contextSize: tokens,
    weights: { ram: weights, vram: 0 },
    context: { ram: slotBytes * (slots || 1), vram: 0 },
    slot: { ram: slots ? slotBytes : 0, vram: 0 },
  };
}

/** How much of an f16 KV cache the others take. */
const kvCacheShares = { f16: 1, q8_0: 17 / 32, q4_0: 9 / 32 };

/** Without `slots` it has as many as it likes, and one KV cache for all. */
function argumentsFor(file: string, options: LoadOptions, { contextSize }: LoadPlan): readonly string[] {
  const { slots, threads, gpu, gpuLayers = 'auto', kvCacheType = 'f16', loras = [], serverArgs = [] } = options;
  return [
    '--no-webui',
    '--model',
    file,
    '--ctx-size',
    String(contextSize * (slots || 1)),
    ...(slots > 0 ? ['--parallel', String(slots)] : []),
    ...(threads > 0 ? ['--threads', String(threads)] : []),
    ...(gpu === 'off' ? ['--device', 'none'] : []),
    ...(gpuLayers === 'auto' ? [] : ['--n-gpu-layers', String(gpuLayers)]),
    ...(kvCacheType === 'f16' ? [] : ['--cache-type-k', kvCacheType, '--cache-type-v', kvCacheType]),
    ...(loras.length === 0 ? [] : ['--lora', loras.map(({ file: lora }) => toCsv(lora)).join()]),
    ...serverArgs,
    '--slots',
  ];
}

/** A value of a list that is separated by commas. */
const toCsv = (text: string): string => (/[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

interface ServerProcessOptions extends Pick<LlamaServerOptions, 'binary'> {
  readonly loras: readonly LoraFile[];
  readonly args: readonly string[];
  /** Receives the id of each process that is started. */
  readonly onStart: (pid: number) => void;
  /** It has ended by itself. @returns milliseconds until it is started again, or why it is not. */
  readonly onCrash: (end: ProcessEnd) => number | Fault;
}

// Between this process and the binary: when this process ends, its end of the pipe is closed, on all systems. The priority is
// not lowered: the threads of llama.cpp wait for each other, so one that gets no core stalls all of them.
const guard = `
  const [binary, ...args] = process.argv.slice(1);
  const stdio = ['ignore', 'ignore', 'inherit'];
  const child = require('node:child_process').spawn(binary, args, { stdio, windowsHide: true });
  console.log(child.pid);
  child.on('error', ({ message }) => { console.error(message); process.exit(127); });
  child.on('exit', (code, signal) => { if (signal) console.error('ended by ' + signal); process.exit(code ?? 1); });
  process.stdin.on('end', () => child.kill('SIGKILL')).resume();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);
`;

const stderrTailLength = 2000;
const pollMs = 30;

/** A llama-server on loopback with a key of its own. It is started again after a crash, on the same port. */
class ServerProcess implements AsyncDisposable {
  readonly url: string;
  readonly key = randomBytes(24).toString('hex');
  readonly #options: ServerProcessOptions;
  readonly #closing = new AbortController();
  #child: ChildProcess | undefined;
  #stderr = '';
  #wasReady = false;
  #ready: Promise<void>;

  constructor(port: number, options: ServerProcessOptions) {
    this.url = `http://127.0.0.1:${port}`;
    this.#options = options;
    this.#ready = this.#start();
  }

  /** Resolves when it has loaded its model. @throws Fault when it cannot, or was given up; the reason of the signal. */
  ready(signal: AbortSignal): Promise<void> {
    return raceAbort(this.#ready, signal);
  }

  /** Starts it again where it was given up. */
  restart(): Promise<void> {
    if (!this.#child) this.#ready = this.#start();
    return this.#ready;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    const child = this.#child;
    if (!child) return;
    const ended = once(child, 'close');
    child.stdin?.end();
    await ended;
  }

  /** @param after milliseconds, or why it is not started. */
  #start(after: number | Fault = 0): Promise<void> {
    const ready = after instanceof Fault ? Promise.reject(after) : this.#run(after);
    // The next request tells of it.
    ready.catch(() => undefined);
    return ready;
  }

  async #run(afterMs: number): Promise<void> {
    const { signal } = this.#closing;
    if (afterMs > 0) await wait(afterMs, undefined, { signal });
    const { binary, args, onStart } = this.#options;
    const address = ['--host', '127.0.0.1', '--port', new URL(this.url).port];
    const child = spawn(process.execPath, ['-e', guard, '--', binary, ...args, ...address], {
      stdio: 'pipe',
      env: { ...process.env, LLAMA_API_KEY: this.key },
      windowsHide: true,
    });
    this.#child = child;
    this.#stderr = '';
    child.stdin.on('error', () => undefined);
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-stderrTailLength);
    });
    let pid = 0;
    child.stdout.on('data', (line: Buffer) => {
      pid = Number(line.toString());
      if (pid > 0) onStart(pid);
    });
    // The process between was ended first.
    child.on('exit', (code) => code === null && pid > 0 && end(pid));
    const ended = once(child, 'close').then(([code]) => this.#onEnd(Number(code)));
    await Promise.race([ended, this.#answers(child)]);
    if (this.#child === child) this.#wasReady = true;
  }

  async #answers(child: ChildProcess): Promise<void> {
    for (const { signal } = this.#closing; this.#child === child; await wait(pollMs, undefined, { signal })) {
      if ((await fetch(`${this.url}/health`, { signal }).catch(() => undefined))?.ok) return this.#scaleLoras();
    }
  }

  /** Not by an argument: in those with a scale, no path can have a colon, as it has on Windows. */
  async #scaleLoras(): Promise<void> {
    const { loras } = this.#options;
    if (loras.every(({ scale }) => scale === 1)) return;
    const headers = { authorization: `Bearer ${this.key}`, 'content-type': 'application/json' };
    const body = JSON.stringify(loras.map(({ scale }, id) => ({ id, scale })));
    const response = await fetch(`${this.url}/lora-adapters`, { method: 'POST', headers, body });
    if (!response.ok) throw new Fault('MODEL_LOAD_FAILED', `it refuses the scales: ${await response.text()}`);
  }

  /** @throws Fault with what it wrote last. */
  #onEnd(code: number): never {
    this.#child = undefined;
    const words = this.#stderr.trim().split('\n').slice(-3).join(' ');
    const description = `has ended with exit code ${code}${words === '' ? '' : `: ${words}`}`;
    const fault = new Fault('ENGINE_CRASHED', `${this.#options.binary} ${description}`);
    if (this.#closing.signal.aborted || !this.#wasReady) throw fault;
    this.#ready = this.#start(this.#options.onCrash({ reason: 'crash', description }));
    throw fault;
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}
