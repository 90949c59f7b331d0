import { execFileSync, spawn } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHubServer, type HubFixture } from '../../helpers/hubFixture.ts';
import { findFaults } from '../../helpers/maliciousServer.ts';
import { checkRequirement, findGodot3, isSkipped } from '../../helpers/requirements.mjs';
import { repositoryPath } from '../../helpers/server.ts';
import { expectSurvival, runTrial } from './clientTrial.ts';
import { expectResume } from './conformProgram.ts';
import { expectConformance } from './conformanceRun.ts';
import { visitMaliciousServers } from './maliciousVisits.ts';
import { expectPrograms, programEnd } from './playgroundPrograms.ts';
import { outputUntil } from './readmeSample.ts';
import { expectScenarios } from './sharedScenarios.ts';
import { writeBundle } from './smallBundle.ts';

const example = (path: string): string => repositoryPath(`examples/${path}`);

const scene = 'extends SceneTree\n\nfunc _init():\n\tget_root().add_child(load("res://example.gd").new())\n';

describe.skipIf(isSkipped('godotClient'))('the GDScript client for Godot 3', () => {
  let folder = '';
  let fixture: HubFixture;
  beforeAll(async () => {
    checkRequirement('godotClient');
    folder = await mkdtemp(join(tmpdir(), 'turngraph-godot-'));
    await copyFile(example('godot3/turngraph.gd'), join(folder, 'turngraph.gd'));
    fixture = await startHubServer();
  });
  afterAll(async () => {
    await fixture[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  // Godot writes its settings into the home folder.
  const startIn = (project: string, script: string, args: readonly string[] = [], env = {}) =>
    spawn(findGodot3() ?? 'godot3-server', ['--path', project, '--script', script, ...args], {
      env: { ...process.env, HOME: folder, ...env },
    });
  const start = (script: string, ...args: readonly string[]) => startIn(folder, script, args);

  it.concurrent(
    'streams, calls tools, cancels, and survives the end, the loss and a restart of the server',
    async () => {
      await copyFile(repositoryPath('test/e2e/clients/trial.gd'), join(folder, 'trial.gd'));
      expectSurvival(await runTrial((url, token) => start('trial.gd', url, token)));
    },
  );

  it.concurrent('resumes its session when the connection is cut in the middle of an answer', async () => {
    await expectResume(fixture.server.url, ['sh', example('godot3/conform.sh')], { HOME: folder });
  });

  it.concurrent(
    'ends each visit of a malicious server with an error that names what happened and the limit',
    async () => {
      await copyFile(repositoryPath('test/e2e/clients/visits.gd'), join(folder, 'visits.gd'));
      const outcomes = await visitMaliciousServers((urls) => start('visits.gd', ...urls), true);
      const settings = {
        connect: 'connect_ms',
        request: 'request_ms',
        idle: 'idle_ms',
        reconnect: 'reconnect_ms',
        answer: 'answer_bytes',
        pages: 'page',
      };
      expect(findFaults(outcomes, settings)).toEqual([]);
    },
  );

  it.concurrent('runs the scenarios of all clients', async () => {
    await expectScenarios(['sh', example('godot3/conform.sh')], { env: { HOME: folder } });
  });

  it.concurrent('runs the programs that the playground writes', async () => {
    await expectPrograms('gdscript', async ({ code, folder: project, token }) => {
      await copyFile(example('godot3/turngraph.gd'), join(project, 'turngraph.gd'));
      await writeFile(join(project, 'example.gd'), code);
      await writeFile(join(project, 'scene.gd'), scene);
      return outputUntil(startIn(project, 'scene.gd', [], { TURNGRAPH_TOKEN: token }), programEnd);
    });
  });

  it.concurrent('passes the conformance kit', async () => {
    await expectConformance(`HOME='${folder}' sh '${example('godot3/conform.sh')}'`, ['json']);
  });

  it.concurrent('runs its example', async () => {
    const source = await readFile(example('godot3/example.gd'), 'utf8');
    await writeFile(join(folder, 'example.gd'), source.replace('ws://127.0.0.1:9100', fixture.server.url));
    await writeFile(join(folder, 'scene.gd'), scene);
    const shown = await outputUntil(start('scene.gd'), /^saved: .*\n/m);
    expect(shown).toMatch(/^set_light \{"name": "porch", "on": true\}$/m);
    expect(shown).toMatch(/^piece: \w/m);
    expect(shown).toMatch(/^get_weather \{"city": "Oslo"\}$/m);
    expect(shown).toMatch(/^weather: \w/m);
    expect(shown).toMatch(/^story: CANCELLED$/m);
    expect(shown).toMatch(/^saved: \[\{"user":"Please turn on the porch light\."/m);
  });

  it.concurrent('downloads models, and starts and stops a server', async () => {
    const bundle = join(folder, 'a bundle');
    await mkdir(bundle);
    await writeBundle(bundle);
    await copyFile(repositoryPath('test/e2e/clients/abilities.gd'), join(folder, 'abilities.gd'));
    const done = await outputUntil(start('abilities.gd', fixture.server.url, bundle), /^stopped\n/m);
    expect(done.slice(done.indexOf('models ')).trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^models Tiny:ABSENT .*turngraph-demo:(?:LOCAL|LOADED)/) as string,
      'suggested 0 of True',
      'downloaded 300000 after Tiny DOWNLOADING 1',
      'nowhere 6002',
      'text 41202271756f74656422200974657874205c',
      'destroyed ok',
      'after that 3002',
      'too long 5003',
      'closed 1002',
      'server ok',
      'started',
      'stopped',
    ]);
  });
});

describe.skipIf(isSkipped('godot4Syntax'))('the files for Godot 4', () => {
  it('have no syntax errors', () => {
    const addon = ['turngraph', 'autoload', 'turngraph_agent', 'plugin', 'dock'].map(
      (name) => `addons/turngraph/${name}`,
    );
    const files = [...addon, 'example'].map((name) => example(`godot4/${name}.gd`));
    expect(() => execFileSync('gdparse', files, { stdio: 'pipe' })).not.toThrow();
  });
});
