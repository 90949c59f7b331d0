import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { raceAbort } from '../../base/abort.ts';
import { Fault } from '../../protocol/fault.ts';
import type { ProcessEnd } from '../process/engineProcess.ts';

/** How a llama-server is started, and who hears of it. */
export interface ServerProcessOptions {
  /** Path of the binary, or its name on the PATH. */
  readonly binary: string;
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
export class ServerProcess implements AsyncDisposable {
  readonly url: string;
  readonly key = randomBytes(24).toString('hex');
  readonly #options: ServerProcessOptions;
  readonly #closing = new AbortController();
  #child: ChildProcess | undefined;
  #stderr = '';
  #wasReady = false;
  #ready: Promise<void>;

  private constructor(port: number, options: ServerProcessOptions) {
    this.url = `http://127.0.0.1:${port}`;
    this.#options = options;
    this.#ready = this.#start();
  }

  static async start(options: ServerProcessOptions): Promise<ServerProcess> {
    return new ServerProcess(await freePort(), options);
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

  #start(afterMs = 0): Promise<void> {
    const ready = this.#run(afterMs);
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
      const response = await fetch(`${this.url}/health`, { signal }).catch(() => undefined);
      if (response?.ok) return;
    }
  }

  /** @throws Fault with what it wrote last. */
  #onEnd(code: number): never {
    this.#child = undefined;
    const words = this.#stderr.trim().split('\n').slice(-3).join(' ');
    const description = `has ended with exit code ${code}${words === '' ? '' : `: ${words}`}`;
    const fault = new Fault('ENGINE_CRASHED', `${this.#options.binary} ${description}`);
    if (this.#closing.signal.aborted || !this.#wasReady) throw fault;
    const next = this.#options.onCrash({ reason: 'crash', description });
    const refused = next instanceof Fault ? Promise.reject(next) : undefined;
    refused?.catch(() => undefined);
    this.#ready = refused ?? this.#start(next as number);
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

/** A port of loopback that is free now. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}
