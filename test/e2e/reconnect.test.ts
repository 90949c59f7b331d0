import { randomInt } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { untilExit } from '../cli/command.ts';
import { blocksOf } from '../helpers/docPages.ts';
import { SampleFolder, SampleServer } from '../helpers/sampleFolder.ts';

const page = 'docs/connection.md';
const key = `${page}#what-your-program-must-do js 1`;

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
describe.concurrent(`the program of ${page}`, () => {
  // After SIGKILL the client reconnects by itself; a server that stops ends the session, and the program connects again.
  it.each([
    ['SIGKILL', 'reconnecting'],
    ['SIGTERM', 'no server listens there'],
  ] as const)('continues the conversation after %s and several refusals', async (signal, refusal) => {
    await using folder = await SampleFolder.create();
    // Below the ports that systems give out: no server of another test takes it while this one is down.
    const first = await SampleServer.start(folder, randomInt(20_000, 30_000));
    const { port } = first;
    const file = join(folder.path, 'dialog.json');
    await folder.write('dialog.json', '[]');
    const { code = '' } = blocksOf(page).find((block) => block.key === key) ?? {};
    const program = await folder.startProgram('talk.mjs', code, port);
    const ended = untilExit(program);
    const answered = untilShown(program.stdout, '\n');
    program.stdin.write('Hello!\n');
    await answered;
    const before = JSON.parse(await readFile(file, 'utf8')) as readonly object[];
    expect(before).toMatchObject([{ user: 'Hello!' }]);

    await first.stop(signal);
    const refused = untilShown(program.stderr, refusal, 3);
    program.stdin.write('Tell me a joke.\n');
    await Promise.race([refused, ended.then((end) => expect.fail(`the program has ended: ${JSON.stringify(end)}`))]);
    expect([program.exitCode, program.signalCode]).toEqual([null, null]);
    await using second = await SampleServer.start(folder, port);
    expect(second.port).toBe(port);
    program.stdin.end();

    const { out, err, ...exit } = await ended;
    expect({ exit, answers: out.trim().split('\n').length }).toEqual({ exit: { code: 0 }, answers: 2 });
    expect(err).not.toContain('Unhandled');
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject([...before, { user: 'Tell me a joke.' }]);
  });
});
