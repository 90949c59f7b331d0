import { spawn } from 'node:child_process';
import { expect } from 'vitest';
import { repositoryPath } from './server.ts';

/** Runs a program of examples/ against a server. Returns what it prints. A question of it gets the answer. */
export async function runExampleProgram(program: string, url: string, answer = ''): Promise<string> {
  const child = spawn(process.execPath, [repositoryPath(`examples/${program}`), url]);
  let printed = '';
  child.stdout.on('data', (data: Buffer) => {
    printed += data.toString();
    if (printed.endsWith('(y/n) ')) child.stdin.write(answer);
  });
  child.stderr.on('data', (data: Buffer) => (printed += data.toString()));
  const code = await new Promise((resolve) => child.on('close', resolve));
  expect(code, printed).toBe(0);
  return printed;
}
