import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { repositoryPath } from '../helpers/server.ts';

const cli = repositoryPath('dist/cli/turngraph.js');

/** What a command printed, and how it ended. */
export interface Ran {
  readonly out: string;
  readonly err: string;
  readonly code: number | null;
}

/** Starts a command of the built CLI; `env` is beside the environment of the tests. */
export function starts(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = repositoryPath('.'),
): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [cli, ...args], { cwd, env: { ...process.env, NO_COLOR: '1', ...env } });
}

/** Runs a command to its end. */
export async function runs(
  args: readonly string[],
  input = '',
  env: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  const child = starts(args, env);
  child.stdin.end(input);
  return ended(child);
}

/** What a child has printed when it has ended. */
export async function ended(child: ChildProcessWithoutNullStreams): Promise<Ran> {
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { out, err, code };
}

/** The first line that a child prints. */
export function firstLine(child: ChildProcessWithoutNullStreams): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    child.stdout.on('data', (data: Buffer) => {
      text += data.toString();
      if (text.includes('\n')) resolve(text.split('\n')[0] ?? '');
    });
  });
}
