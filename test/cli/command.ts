import { fork, spawn, type ChildProcess, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { repositoryPath } from '../helpers/server.ts';

const cli = repositoryPath('dist/cli/turngraph.js');
// With a number of threads a model is not benchmarked that is new to the machine, and no thread waits for another.
const testEnv = { NO_COLOR: '1', TURNGRAPH_THREADS: '1' } as const;

/** Output and exit code of a command. */
export interface CliResult {
  readonly out: string;
  readonly err: string;
  readonly code: number | null;
}

/** Starts a command of the built CLI; `env` is added to the environment of the tests. */
export function startCli(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = repositoryPath('.'),
): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [cli, ...args], { cwd, env: { ...process.env, ...testEnv, ...env } });
}

/** Starts a command that may have this many file handles open; not on Windows. */
export const startCliWithFileHandles = (count: number, args: readonly string[]): ChildProcessWithoutNullStreams =>
  spawn('sh', ['-c', `ulimit -n ${count} && exec "$0" "$@"`, process.execPath, cli, ...args], {
    cwd: repositoryPath('.'),
    env: { ...process.env, ...testEnv },
  });

/** Starts a command whose standard error is a file or a device; not on Windows. */
export const startCliLoggingTo = (path: string, args: readonly string[]): ChildProcessWithoutNullStreams =>
  spawn('sh', ['-c', `exec "$0" "$@" 2> ${path}`, process.execPath, cli, ...args], {
    cwd: repositoryPath('.'),
    env: { ...process.env, ...testEnv },
  });

/** Runs a command to its end. */
export async function runCli(
  args: readonly string[],
  input = '',
  env: Readonly<Record<string, string>> = {},
  cwd?: string,
): Promise<CliResult> {
  const child = startCli(args, env, cwd);
  child.stdin.end(input);
  return untilExit(child);
}

// The library is loaded once, and not by a process for each command that has a model.
const hostEnv = { ...testEnv, TURNGRAPH_ENGINE_PROCESS: 'in' } as const;

interface CommandHost {
  readonly child: ChildProcess;
  /** Rejects when the process has ended. */
  readonly ended: Promise<never>;
}

// That of the test process before a test changes it.
const ownEnv = { ...process.env };

async function startHost(): Promise<CommandHost> {
  const child = fork(repositoryPath('test/cli/commandHost.mjs'), { execArgv: [], silent: true, env: ownEnv });
  let err = '';
  child.stderr?.on('data', (data: Buffer) => (err += data.toString()));
  const ended = once(child, 'close').then(() => {
    host = undefined;
    return Promise.reject(new Error(`the host of the commands ended: ${err}`));
  });
  ended.catch(() => undefined);
  await Promise.race([once(child, 'message'), ended]);
  return { child, ended };
}

/** Runs a command to its end, as `runCli` does. */
export type RunCommand = typeof runCli;

// One for all files of a worker, which ends it by its own end.
let host: Promise<CommandHost> | undefined;
let last: Promise<unknown> = Promise.resolve();

async function runInHost(request: object): Promise<CliResult> {
  const { child, ended } = await (host ??= startHost());
  // The log of a server is not written by Node's stream: it is read from the process.
  let log = '';
  let isStopped = false;
  const read = (data: Buffer): void => {
    log += data.toString();
    if (isStopped || !log.includes('"listening"')) return;
    isStopped = true;
    child.send('stop');
  };
  child.stderr?.on('data', read);
  child.send(request);
  const [result] = (await Promise.race([once(child, 'message'), ended])) as [CliResult];
  child.stderr?.off('data', read);
  return isStopped ? { ...result, err: log + result.err } : result;
}

/**
 * Runs the commands of a file one after the other in one process, which loads their modules once, and their models
 * itself: for commands that do not wait for a signal; a server is stopped when it listens. What the start and the end of a
 * process do, and engine processes, are tested with `runCli`.
 */
export const useCommandHost =
  (): RunCommand =>
  (args, input = '', env = {}, cwd = repositoryPath('.')) => {
    const running = last.then(() => runInHost({ args, input, env: { ...hostEnv, ...env }, cwd }));
    last = running.catch(() => undefined);
    return running;
  };

/** The arguments of a line that calls turngraph, and in which a shell does nothing but remove double quotes. */
export function argumentsOf(line: string): readonly string[] | undefined {
  const word = /"([^"\\$`!]*)"|([^"'\\|&;<>()$`*?~!{}[\]# ]+)/;
  const calls = new RegExp(`^(?:npx )?turngraph((?: +(?:${word.source}))+) *$`);
  const [, words] = calls.exec(line) ?? [];
  if (words === undefined) return undefined;
  return [...words.matchAll(new RegExp(word, 'g'))].map(([, quoted, bare]) => quoted ?? bare ?? '');
}

/** Waits for the end of a child process. Returns its output and exit code. */
export async function untilExit(child: ChildProcessWithoutNullStreams): Promise<CliResult> {
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { out, err, code };
}

/** Waits for the first line on the standard output of a child process. */
export function readFirstLine(child: ChildProcessWithoutNullStreams): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    child.stdout.on('data', (data: Buffer) => {
      text += data.toString();
      if (text.includes('\n')) resolve(text.split('\n')[0] ?? '');
    });
  });
}
