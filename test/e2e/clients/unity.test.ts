import { execFile, spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkRequirement, isSkipped, newtonsoftPath } from '../../helpers/requirements.mjs';
import { repositoryPath, useServer } from '../../helpers/server.ts';
import { expectSurvival, runTrial } from './clientTrial.ts';
import { outputUntil, readSample } from './readmeSample.ts';

const run = promisify(execFile);
const client = repositoryPath('examples/unity/TurngraphClient.cs');
const server = useServer();

describe.skipIf(isSkipped('unityClient'))('the C# client for Unity and .NET', () => {
  let folder = '';
  beforeAll(async () => {
    checkRequirement('unityClient');
    folder = await mkdtemp(join(tmpdir(), 'turngraph-mono-'));
    await copyFile(newtonsoftPath, join(folder, basename(newtonsoftPath)));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** Compiles files with the client, and starts them. */
  async function start(
    ...files: readonly string[]
  ): Promise<(...args: readonly string[]) => ChildProcessWithoutNullStreams> {
    const program = join(folder, `${basename(files[0] ?? '')}.exe`);
    await run('mcs', ['-langversion:7.2', '-warnaserror', `-out:${program}`, `-r:${newtonsoftPath}`, client, ...files]);
    return (...args) => spawn('mono', [program, ...args]);
  }

  it('streams, calls tools, cancels, and survives kill -TERM, kill -9 and a restart of the server', async () => {
    expectSurvival(await runTrial(await start(repositoryPath('test/e2e/clients/Trial.cs'))));
  });

  it('runs the example of its README', async () => {
    const example = join(folder, 'Porch.cs');
    await writeFile(example, await readSample('unity', 'csharp', server().url));
    const play = await start(example, repositoryPath('test/e2e/clients/UnityEngine.cs'));
    expect(await outputUntil(play(), /lamp: \w/)).toContain('set_light {"name": "porch", "on": true}');
  });
});
