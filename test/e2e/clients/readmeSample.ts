import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { repositoryPath } from '../../helpers/server.ts';

/** The program in the README of a client, with the URL of another server. */
export async function readSample(client: string, language: string, url: string): Promise<string> {
  const readme = await readFile(repositoryPath(`examples/${client}/README.md`), 'utf8');
  const [, program = ''] = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, 'ms').exec(readme) ?? [];
  return program.replace('ws://127.0.0.1:9100', url);
}

/** Waits until a program has printed something that matches, then ends it. Returns all output. */
export async function outputUntil(program: ChildProcessWithoutNullStreams, pattern: RegExp): Promise<string> {
  let output = '';
  try {
    await new Promise<void>((resolve, reject) => {
      program.once('error', reject);
      program.once('exit', (code) => reject(new Error(`the program ended with ${code}:\n${output}`)));
      for (const stream of [program.stdout, program.stderr]) {
        stream.on('data', (data: Buffer) => {
          output += data.toString();
          if (pattern.test(output)) resolve();
        });
      }
    });
    return output;
  } finally {
    program.kill('SIGKILL');
  }
}
