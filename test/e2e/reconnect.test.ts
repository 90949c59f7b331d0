import { randomInt } from 'node:crypto';
import { expect, it } from 'vitest';
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

it(`the program of ${page} continues its conversation after SIGKILL, SIGTERM and several refusals`, async () => {
  await using folder = await SampleFolder.create();
  // Below the ports that systems give out: no server of another test takes it while this one is down.
  let server = await SampleServer.start(folder, randomInt(20_000, 30_000));
  await using _ = { [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  const { port } = server;
  const file = join(folder.path, 'dialog.json');
  await folder.write('dialog.json', '[]');
  const readDialog = async () => JSON.parse(await readFile(file, 'utf8')) as readonly object[];
  const { code = '' } = blocksOf(page).find((block) => block.key === key) ?? {};
  const program = await folder.startProgram('talk.mjs', code, port);
  const ended = untilExit(program);
  const failAtEnd = async (): Promise<never> => expect.fail(`the program has ended: ${JSON.stringify(await ended)}`);
  const orEnd = (shown: Promise<void>) => Promise.race([shown, failAtEnd()]);
  const say = (text: string): Promise<void> => {
    const answered = orEnd(untilShown(program.stdout, '\n'));
    program.stdin.write(text);
    return answered;
  };
  await say('Hello!\n');
  let before = await readDialog();
  expect(before).toMatchObject([{ user: 'Hello!' }]);

  // After SIGKILL the client reconnects by itself; a server that stops ends the session, and the program connects again.
  for (const [signal, refusal] of [
    ['SIGKILL', 'reconnecting'],
    ['SIGTERM', 'no server listens there'],
  ] as const) {
    await server.stop(signal);
    const refused = untilShown(program.stderr, refusal, 3);
    const answered = say('Tell me a joke.\n');
    await orEnd(refused);
    expect([program.exitCode, program.signalCode]).toEqual([null, null]);
    server = await SampleServer.start(folder, port);
    expect(server.port).toBe(port);
    await answered;
    const dialog = await readDialog();
    expect(dialog).toMatchObject([...before, { user: 'Tell me a joke.' }]);
    before = dialog;
  }
  program.stdin.end();
  const { out, err, ...exit } = await ended;
  expect({ exit, answers: out.trim().split('\n').length }).toEqual({ exit: { code: 0 }, answers: 3 });
  expect(err).not.toContain('Unhandled');
});
