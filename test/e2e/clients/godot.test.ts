import { spawn } from 'node:child_process';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkRequirement, findGodot3, isSkipped } from '../../helpers/requirements.mjs';
import { repositoryPath, useServer } from '../../helpers/server.ts';
import { expectSurvival, runTrial } from './clientTrial.ts';
import { outputUntil, readSample } from './readmeSample.ts';

const server = useServer();

describe.skipIf(isSkipped('godotClient'))('the GDScript client for Godot 3', () => {
  let folder = '';
  beforeAll(async () => {
    checkRequirement('godotClient');
    folder = await mkdtemp(join(tmpdir(), 'turngraph-godot-'));
    await copyFile(repositoryPath('examples/godot3/turngraph.gd'), join(folder, 'turngraph.gd'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  // Godot writes its settings into the home folder.
  const start = (script: string, ...args: readonly string[]) =>
    spawn(findGodot3() ?? 'godot3-server', ['--path', folder, '--script', script, ...args], {
      env: { ...process.env, HOME: folder },
    });

  it('streams, calls tools, cancels, and survives kill -TERM, kill -9 and a restart of the server', async () => {
    await copyFile(repositoryPath('test/e2e/clients/trial.gd'), join(folder, 'trial.gd'));
    expectSurvival(await runTrial((url, token) => start('trial.gd', url, token)));
  });

  it('runs the example of its README', async () => {
    await writeFile(join(folder, 'example.gd'), await readSample('godot3', 'gdscript', server().url));
    const scene = 'extends SceneTree\n\nfunc _init():\n\tget_root().add_child(load("res://example.gd").new())\n';
    await writeFile(join(folder, 'scene.gd'), scene);
    expect(await outputUntil(start('scene.gd'), /lamp: \w/)).toContain('set_light {"name": "porch", "on": true}');
  });
});
