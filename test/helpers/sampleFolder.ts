import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { readFirstLine, startCli, untilExit, type CliResult, type RunCommand } from '../cli/command.ts';
import { repositoryPath } from './server.ts';

/** The address of a server in the documentation. */
const documentedAddress = '127.0.0.1:9100';

/** What a sample needs besides its text. */
export interface SampleRun {
  /** Text on its standard input. */
  readonly input?: string;
  /** Options of Node. */
  readonly flags?: readonly string[];
}

/** A project of a reader: an empty folder with the package installed, where samples run as they stand. */
export class SampleFolder implements AsyncDisposable {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async create(): Promise<SampleFolder> {
    const folder = new SampleFolder(await mkdtemp(join(tmpdir(), 'turngraph-sample-')));
    const link = async (target: string, name: string): Promise<void> => {
      await mkdir(dirname(join(folder.path, name)), { recursive: true });
      await symlink(repositoryPath(target), join(folder.path, name), 'junction');
    };
    await link('.', 'node_modules/turngraph');
    await link('node_modules/ws', 'node_modules/ws');
    for (const name of ['zod', 'openai', 'ai', '@ai-sdk', '@modelcontextprotocol'])
      await link(`node_modules/${name}`, `node_modules/${name}`);
    await link('proto', 'proto');
    await link('models/turngraph-demo.gguf', 'downloads/some-model-q4_k_m.gguf');
    await cp(repositoryPath('graphs'), join(folder.path, 'graphs'), { recursive: true });
    // A preload that gives Node 20 the WebSocket of later versions.
    await folder.write('websocket.mjs', "import { WebSocket } from 'ws';\nglobalThis.WebSocket ??= WebSocket;\n");
    // What `npx turngraph` runs in a project that has the package.
    const command = (name: string, start: string): Promise<void> =>
      folder.write(`bin/${name}`, `#!/bin/sh\n${start}\nexec "${process.execPath}" "${cli}" "$@"\n`);
    await command('npx', '[ "$1" = turngraph ] || exit 127; shift');
    await command('turngraph', '');
    await Promise.all(['npx', 'turngraph'].map((name) => chmod(join(folder.path, 'bin', name), 0o755)));
    return folder;
  }

  /** Writes a file; folders in its name are made. */
  async write(name: string, text: string): Promise<void> {
    await mkdir(dirname(join(this.path, name)), { recursive: true });
    await writeFile(join(this.path, name), text);
  }

  /** Writes a program, with the port of a test server in place of the documented one. */
  writeProgram(name: string, code: string, port: number): Promise<void> {
    return this.write(name, withPort(code, port));
  }

  /** Writes a program and starts it. */
  async startProgram(name: string, code: string, port: number, run: SampleRun = {}) {
    await this.writeProgram(name, code, port);
    return this.#start(process.execPath, [...(run.flags ?? []), name]);
  }

  /** Runs a program to its end. */
  async runProgram(name: string, code: string, port: number, run: SampleRun = {}): Promise<CliResult> {
    const child = await this.startProgram(name, code, port, run);
    child.stdin.end(run.input ?? '');
    return untilExit(child);
  }

  /** Runs a command line of a shell to its end. */
  async runCommand(line: string, port: number, input = ''): Promise<CliResult> {
    const child = this.startCommand(line, port);
    child.stdin.end(input);
    return untilExit(child);
  }

  /** Runs a command of turngraph by its arguments, as `runCommand` does with its line. */
  runTurngraph(run: RunCommand, args: readonly string[], port: number, input: string): Promise<CliResult> {
    return run(
      args.map((arg) => withPort(arg, port)),
      input,
      this.#variables(),
      this.path,
    );
  }

  /** Starts a command line of a shell; a server that it starts takes any free port. */
  startCommand(line: string, port: number, variables = {}): ChildProcessWithoutNullStreams {
    return this.#start('bash', ['-c', withPort(line, port)], variables);
  }

  #start(command: string, args: readonly string[], variables = {}): ChildProcessWithoutNullStreams {
    return spawn(command, args, { cwd: this.path, env: { ...process.env, ...this.#variables(), ...variables } });
  }

  #variables(): Readonly<Record<string, string>> {
    const own = (name: string): string => join(this.path, name);
    return {
      PATH: `${own('bin')}:${process.env['PATH'] ?? ''}`,
      HOME: this.path,
      HF_HOME: own('hub'),
      NO_COLOR: '1',
      TURNGRAPH_PORT: '0',
      // Else each sample would start a process for its model.
      TURNGRAPH_ENGINE_PROCESS: 'in',
      TURNGRAPH_CACHE: own('cache'),
      TURNGRAPH_MODELS: own('models'),
      TURNGRAPH_TOKEN: '',
      PYTHONPATH: [own('python'), repositoryPath('examples/python')].join(':'),
      PYTHONDONTWRITEBYTECODE: '1',
      PYTHONUTF8: '1',
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}

/** A server in a process of its own, as a reader starts it: with `turngraph serve`. */
export class SampleServer implements AsyncDisposable {
  readonly port: number;
  readonly #process: ChildProcessWithoutNullStreams;

  private constructor(port: number, process: ChildProcessWithoutNullStreams) {
    this.port = port;
    this.#process = process;
  }

  /** Starts a server with the graphs of a folder. Port 0 is any free one. */
  static async start({ path }: SampleFolder, port = 0): Promise<SampleServer> {
    const options = [
      '--json',
      '--openai',
      '--log-level',
      'error',
      '--graphs',
      join(path, 'graphs'),
      '--cache',
      join(path, 'cache'),
    ];
    const server = startCli(['serve', '--port', String(port), ...options], { TURNGRAPH_ENGINE_PROCESS: 'in' });
    const { port: taken } = JSON.parse(await readFirstLine(server)) as { readonly port: number };
    return new SampleServer(taken, server);
  }

  /** Ends the process with a signal, and waits for that. */
  async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const ended = untilExit(this.#process);
    this.#process.kill(signal);
    await ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode === null && this.#process.signalCode === null) await this.stop('SIGKILL');
  }
}

const cli = repositoryPath('dist/cli/turngraph.js');

const withPort = (text: string, port: number): string => text.replaceAll(documentedAddress, `127.0.0.1:${port}`);
