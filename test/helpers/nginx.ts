import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { repositoryPath } from './server.ts';

/** The ports of the servers that the example names 9101 and 9102. */
export interface NginxServers {
  readonly a: number;
  readonly b: number;
}

/** nginx with the configuration of examples/nginx, on a free port of the loopback address. */
export class Nginx implements AsyncDisposable {
  /** Address of nginx: `ws://127.0.0.1:PORT`. */
  readonly url: string;
  readonly #process: ChildProcess;
  readonly #folder: string;
  readonly #config: string;
  /** What it has logged. */
  readonly #lines: string[] = [];
  #wake = (): void => {};

  private constructor(port: number, folder: string, config: string) {
    this.url = `ws://127.0.0.1:${port}`;
    this.#folder = folder;
    this.#config = config;
    const stdio = ['ignore', 'ignore', 'pipe'] as const;
    this.#process = spawn('nginx', ['-p', folder, '-c', 'nginx.conf', '-g', 'daemon off;'], { stdio: [...stdio] });
    if (this.#process.stderr) {
      createInterface({ input: this.#process.stderr }).on('line', (line) => {
        this.#lines.push(line);
        this.#wake();
      });
    }
  }

  /** Starts nginx in front of two servers. @throws Error when nginx ends at once. */
  static async start(servers: NginxServers): Promise<Nginx> {
    const port = await freePort();
    const example = await readFile(repositoryPath('examples/nginx/nginx.conf'), 'utf8');
    const config = replaceAll(example, [
      ['127.0.0.1:8080', `127.0.0.1:${port}`],
      ['127.0.0.1:9101', `127.0.0.1:${servers.a}`],
      ['127.0.0.1:9102', `127.0.0.1:${servers.b}`],
      ['worker_processes auto', 'worker_processes 1'],
      ['error_log error.log warn', 'error_log stderr notice'],
    ]);
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-nginx-'));
    await writeFile(join(folder, 'nginx.conf'), config);
    const nginx = new Nginx(port, folder, config);
    await nginx.#untilListening(port);
    return nginx;
  }

  /** Changes its configuration, and waits until no worker takes new connections with the old one. */
  async reload(replaced: string, replacement: string): Promise<void> {
    await writeFile(join(this.#folder, 'nginx.conf'), replaceAll(this.#config, [[replaced, replacement]]));
    const logged = this.#lines.length;
    this.#process.kill('SIGHUP');
    while (!this.#lines.slice(logged).some((line) => line.includes('gracefully shutting down')))
      await new Promise<void>((resolve) => (this.#wake = resolve));
  }

  /** What it has logged of requests. */
  accessLog(): Promise<string> {
    return readFile(join(this.#folder, 'access.log'), 'utf8');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode === null) {
      const exited = once(this.#process, 'exit');
      this.#process.kill('SIGTERM');
      await exited;
    }
    await rm(this.#folder, { recursive: true });
  }

  async #untilListening(port: number): Promise<void> {
    for (;;) {
      if (this.#process.exitCode !== null) throw new Error(`nginx ended: ${this.#lines.join('\n')}`);
      const socket = connect(port, '127.0.0.1');
      const isOpen = await new Promise((resolve) => {
        socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
      });
      socket.destroy();
      if (isOpen) return;
      await wait(10);
    }
  }
}

function replaceAll(text: string, replacements: readonly (readonly [string, string])[]): string {
  return replacements.reduce((result, [before, after]) => {
    if (!result.includes(before)) throw new Error(`examples/nginx/nginx.conf has no ${before}`);
    return result.replaceAll(before, after);
  }, text);
}

/** A port of loopback on which nothing listens. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  await once(server.close(), 'close');
  return port;
}
