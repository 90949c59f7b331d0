import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHubServer, type HubFixture } from '../../helpers/hubFixture.ts';
import { findFaults } from '../../helpers/maliciousServer.ts';
import { checkRequirement, isSkipped } from '../../helpers/requirements.mjs';
import { repositoryPath } from '../../helpers/server.ts';
import { expectSurvival, runTrial } from './clientTrial.ts';
import { expectConformance } from './conformanceRun.ts';
import { expectResume } from './conformProgram.ts';
import { visitMaliciousServers } from './maliciousVisits.ts';
import { expectPrograms } from './playgroundPrograms.ts';
import { outputUntil } from './readmeSample.ts';
import { expectScenarios } from './sharedScenarios.ts';
import { writeBundle } from './smallBundle.ts';

const run = promisify(execFile);

const unity = (path: string): string => repositoryPath(`examples/unity/${path}`);
const program = (name: string): string => repositoryPath(`test/e2e/clients/${name}.cs`);
const components = [unity('Runtime/TurngraphConnection.cs'), unity('Runtime/TurngraphAgent.cs'), program('UnityStubs')];
const editor = ['GraphTrial', 'TurngraphWindow', 'CopyBundle'].map((name) => unity(`Editor/${name}.cs`));

describe.skipIf(isSkipped('unityClient'))('the C# client for Unity and .NET', () => {
  let folder = '';
  let fixture: HubFixture;
  let conform: Promise<readonly [string, string]>;
  beforeAll(async () => {
    checkRequirement('unityClient');
    folder = await mkdtemp(join(tmpdir(), 'turngraph-mono-'));
    conform = compile(unity('Tests~/conform.cs'));
    [fixture] = await Promise.all([startHubServer(), conform]);
  });
  afterAll(async () => {
    await fixture[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  /** Compiles files with the client. Returns the command that starts them. */
  async function compile(...files: readonly string[]): Promise<readonly [string, string]> {
    const output = join(folder, `${basename(files[0] ?? '')}.exe`);
    const client = unity('Runtime/Turngraph.cs');
    await run('mcs', ['-langversion:7.2', '-warnaserror', `-out:${output}`, client, ...files]);
    return ['mono', output];
  }

  it.concurrent(
    'streams, calls tools, cancels, and survives the end, the loss and a restart of the server',
    async () => {
      const [mono, trial] = await compile(program('Trial'));
      expectSurvival(await runTrial((url, token) => spawn(mono, [trial, url, token])));
    },
  );

  it.concurrent('resumes its session when the connection is cut in the middle of an answer', async () => {
    await expectResume(fixture.server.url, await conform);
  });

  it.concurrent(
    'ends each visit of a malicious server with an error that names what happened and the limit',
    async () => {
      const [mono, visits] = await compile(program('Visits'));
      const outcomes = await visitMaliciousServers((urls) => spawn(mono, [visits, ...urls]));
      const settings = {
        connect: 'ConnectMs',
        request: 'RequestMs',
        idle: 'IdleMs',
        reconnect: 'ReconnectMs',
        frame: 'FrameBytes',
        answer: 'AnswerBytes',
        pages: 'page',
      };
      expect(findFaults(outcomes, settings)).toEqual([]);
    },
  );

  it.concurrent('runs the scenarios of all clients', async () => {
    await expectScenarios(await conform);
  });

  it.concurrent('runs the programs that the playground writes', async () => {
    await expectPrograms('csharp', async ({ code, folder: cwd, token }) => {
      const source = join(cwd, 'Program.cs');
      await writeFile(source, code);
      const [mono, written] = await compile(source);
      const env = { ...process.env, TURNGRAPH_TOKEN: token };
      return (await run(mono, [written], { cwd, env })).stdout;
    });
  });

  it.concurrent('passes the conformance kit', async () => {
    const command = await conform;
    await expectConformance(command.map((word) => `"${word}"`).join(' '), ['json']);
  });

  it.concurrent(
    'runs its example, downloads models, and starts and stops a server, all on the main thread',
    async () => {
      const [mono, abilities] = await compile(program('Abilities'), unity('Samples~/Porch/Example.cs'), ...components);
      const shown = await outputUntil(spawn(mono, [abilities, fixture.server.url]), /^saved: .*\n/m);
      expect(shown).toMatch(/^set_light \{"name": "porch", "on": true\}$/m);
      expect(shown).toMatch(/^piece: \w/m);
      expect(shown).toMatch(/^get_weather \{"city": "Oslo"\}$/m);
      expect(shown).toMatch(/^weather: \w/m);
      expect(shown).toMatch(/^story: CANCELLED$/m);
      expect(shown).toMatch(/^saved: \[\{"user":"Please turn on the porch light\."/m);

      const bundle = join(folder, 'a bundle');
      await mkdir(bundle);
      await writeBundle(bundle);
      const done = await outputUntil(spawn(mono, [abilities, fixture.server.url, bundle]), /^done.*\n/m);
      expect(done.trimEnd().split('\n')).toEqual([
        expect.stringMatching(/^models Tiny:ABSENT .*turngraph-demo:(?:LOCAL|LOADED)/) as string,
        'suggested 0 of True',
        'downloaded 300000 after Tiny DOWNLOADING 1 300000',
        'refused 6002 DOWNLOAD_NOT_AVAILABLE',
        'text 41 20 22 71 75 6f 74 65 64 22 20 d83e dd8a 20 6e e4 68 20 5c 20 1 a',
        'path a',
        'refused 3002 AGENT_ALREADY_DESTROYED',
        'refused 5003 FRAME_TOO_LARGE',
        'closed 1002',
        'started',
        'wrong token 1001 CONNECTION_FAILED: cannot connect to URL: HTTP 401',
        'stopped True',
        expect.stringMatching(/did not start: error: --slots .*many \\"or\\" few/) as string,
        'done',
      ]);
    },
  );

  it.concurrent('runs its components, the logic of its window and the copy of the bundle', async () => {
    const [mono, trial] = await compile(program('Components'), ...components, ...editor);
    const [project, build] = [join(folder, 'a project'), join(folder, 'a build')];
    for (const parent of [project, build]) {
      await mkdir(join(parent, 'game-server'), { recursive: true });
      await writeBundle(join(parent, 'game-server'));
    }
    await writeFile(join(build, 'game-server', 'old.txt'), '');
    const done = await outputUntil(spawn(mono, [trial, project, build, repositoryPath('graphs')]), /^done.*\n/m);
    expect(done.trimEnd().split('\n')).toEqual([
      'error 1001 CONNECTION_FAILED: no connection: add a TurngraphConnection to the scene',
      expect.stringMatching(/^error 1001 .*: there is no .*nothing.game-server.turngraph; make its folder/) as string,
      expect.stringMatching(/^graphs bank-teller .* lamp-switch .*,0$/) as string,
      'window no server: start it first',
      expect.stringMatching(/^window not started: 1001 .*there is no .*nowhere.turngraph;/) as string,
      expect.stringMatching(/^window started at ws:/) as string,
      'window call: set_light {"name": "porch", "on": true}',
      'window reply: ',
      expect.stringMatching(/^window error: 3003 .* no graph "nothing"/) as string,
      'for Android: old True',
      'for Linux: old False',
      'ready',
      'turn SUCCESS Of the project.',
      expect.stringMatching(/^error 3003 .* no graph "no-such-graph"/) as string,
      'ready',
      'call get_weather {"city": "Oslo"}',
      expect.stringMatching(/^turn SUCCESS .*snow/) as string,
      'ready',
      expect.stringMatching(/^field mood (?:happy|calm|sad|angry)$/) as string,
      expect.stringMatching(/^turn SUCCESS \w/) as string,
      'ready',
      'turn CANCELLED',
      expect.stringMatching(/^saved \[\{"user":"What is the weather in Oslo\?".*"mark":"cancelled"\}\]$/) as string,
      'connection True',
      'for macOS: True',
      'done',
    ]);
  });
});
