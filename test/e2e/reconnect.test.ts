import { describe, expect, it } from 'vitest';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { untilExit } from '../cli/command.ts';
import { blocksOf } from '../helpers/docPages.ts';
import { SampleFolder, SampleServer } from '../helpers/sampleFolder.ts';

const sampleOf = (page: string, key: string): string => {
  const block = blocksOf(page).find((candidate) => candidate.key === `${page}#${key}`);
  if (!block) throw new Error(`${page} has no block ${key}`);
  return block.code;
};

/** Waits until a stream has shown a text, a number of times. */
function untilShown(stream: NodeJS.ReadableStream, text: string, times = 1): Promise<void> {
  return new Promise((resolve) => {
    let shown = '';
    stream.on('data', (data: Buffer) => {
      shown += data.toString();
      if (shown.split(text).length > times) resolve();
    });
  });
}

// Concurrent: the programs wait most of the time.
describe.concurrent('the sample of docs/saving.md that reconnects', () => {
  it.each(['SIGKILL', 'SIGTERM'] as const)(
    'continues the conversation after %s and several refusals',
    async (signal) => {
      await using folder = await SampleFolder.create();
      const first = await SampleServer.start(folder);
      const { port } = first;
      const file = join(folder.path, 'dialog.json');
      await folder.write('dialog.json', '[]');
      const program = await folder.startProgram('talk.mjs', sampleOf('docs/saving.md', 'reconnect js 1'), port);
      const ended = untilExit(program);
      const answered = untilShown(program.stdout, '\n');
      program.stdin.write('Hello!\n');
      await answered;
      const before = JSON.parse(await readFile(file, 'utf8')) as readonly object[];
      expect(before).toMatchObject([{ user: 'Hello!' }]);

      // After SIGKILL the client reconnects by itself; a server that stops ends the session, and the program connects again.
      await first.stop(signal);
      const refused = untilShown(program.stderr, signal === 'SIGKILL' ? 'attempt' : 'trying again', 3);
      program.stdin.write('Tell me a joke.\n');
      await refused;
      expect([program.exitCode, program.signalCode]).toEqual([null, null]);
      await using second = await SampleServer.start(folder, port);
      expect(second.port).toBe(port);
      program.stdin.end();

      const { code, out, err } = await ended;
      expect({ code, answers: out.trim().split('\n').length }).toEqual({ code: 0, answers: 2 });
      expect(err).toContain('no server listens there');
      expect(err).not.toContain('Unhandled');
      expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject([...before, { user: 'Tell me a joke.' }]);
    },
  );
});

describe.concurrent('the game loop of docs/client.md', () => {
  it('waits for a server that is away, and answers when it is there', async () => {
    await using folder = await SampleFolder.create();
    const placeholder = await SampleServer.start(folder);
    await placeholder.stop('SIGKILL');
    const code = sampleOf('docs/client.md', 'dropped-connections js 2');
    const program = await folder.startProgram('game.mjs', code, placeholder.port);
    const ended = untilExit(program);
    await untilShown(program.stderr, 'no server listens there', 3);
    await using server = await SampleServer.start(folder, placeholder.port);
    expect(server.port).toBe(placeholder.port);
    expect(await ended).toMatchObject({ code: 0, out: expect.stringMatching(/^Hello! .+\n$/) as string });
  });
});
