import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { repositoryPath } from '../helpers/server.ts';

const cli = repositoryPath('dist/cli/turngraph.js');

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
  return spawn(process.execPath, [cli, ...args], { cwd, env: { ...process.env, NO_COLOR: '1', ...env } });
}

/** Starts a command that may have this many file handles open; not on Windows. */
export const startCliWithFileHandles = (count: number, args: readonly string[]): ChildProcessWithoutNullStreams =>
  spawn('sh', ['-c', `ulimit -n ${count} && exec "$0" "$@"`, process.execPath, cli, ...args], {
    cwd: repositoryPath('.'),
    env: { ...process.env, NO_COLOR: '1' },
  });

/** Starts a command whose standard error is a file or a device; not on Windows. */
export const startCliLoggingTo = (path: string, args: readonly string[]): ChildProcessWithoutNullStreams =>
  spawn('sh', ['-c', `exec "$0" "$@" 2> ${path}`, process.execPath, cli, ...args], {
    cwd: repositoryPath('.'),
    env: { ...process.env, NO_COLOR: '1' },
  });

/** Runs a command to its end. */
export async function runCli(
  args: readonly string[],
  input = '',
  env: Readonly<Record<string, string>> = {},
): Promise<CliResult> {
  const child = startCli(args, env);
  child.stdin.end(input);
  return untilExit(child);
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
