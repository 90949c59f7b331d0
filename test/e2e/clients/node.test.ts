import { execFile, spawn } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { repositoryPath } from '../../helpers/server.ts';
import { expectScenarios } from './sharedScenarios.ts';
import { exampleProcess, runExample } from './exampleRun.ts';
import { expectPrograms } from './playgroundPrograms.ts';

it('the example for Node runs a tool, cancels, and goes on in the middle of an answer when the connection breaks', async () => {
  const program = repositoryPath('examples/node/example.mjs');
  let code: Promise<unknown> = Promise.resolve();
  await runExample((url) => {
    const child = spawn(process.execPath, [program, url]);
    code = new Promise((resolve) => child.once('close', resolve));
    return exampleProcess(child);
  });
  expect(await code).toBe(0);
});

it.each(['json', 'proto'])('the TypeScript client runs the scenarios of all clients over %s', async (codec) => {
  const env = { TURNGRAPH_CODEC: `turngraph.v1.${codec}` };
  await expectScenarios([process.execPath, repositoryPath('examples/node/conform.mjs')], { env });
});

it('the JavaScript that the playground writes runs the calls of graphs that wait for results', async () => {
  await expectPrograms('javascript', async ({ code, folder, token }) => {
    await mkdir(join(folder, 'node_modules'));
    await symlink(repositoryPath('.'), join(folder, 'node_modules/turngraph'), 'junction');
    await writeFile(join(folder, 'program.mjs'), code);
    const env = { ...process.env, TURNGRAPH_TOKEN: token };
    return (await promisify(execFile)(process.execPath, ['program.mjs'], { cwd: folder, env })).stdout;
  });
});
