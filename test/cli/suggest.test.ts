import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readKvCacheShape } from '../../src/inference/llama/gguf/metadata.ts';
import type { Diagnosis } from '../../src/cli/doctor/diagnose.ts';
import type { TargetMachine, Suggestion } from '../../src/inference/models/suggestions/suggestModels.ts';
import { repositoryPath } from '../helpers/server.ts';
import { useCommandHost } from './command.ts';

const runCommand = useCommandHost();

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  const variant = { engine: 'llama-cpp', huggingface_repo: 'ann/x' };
  const models = [
    { name: 'mystery', variants: [{ ...variant, files: ['mystery.gguf'] }] },
    { name: 'page', variants: [{ engine: 'llama-cpp', local_path: '.', files: ['html.gguf'] }] },
    { name: 'parts', variants: [{ engine: 'llama-cpp', local_path: '.', files: ['p-00001-of-00002.gguf'] }] },
    { name: 'huge', variants: [{ ...variant, files: ['huge-900b-f16.gguf'] }] },
  ];
  await writeFile(join(folder, 'html.gguf'), '<!doctype html><title>Sign in</title>'.repeat(10));
  await cp(repositoryPath('models/turngraph-demo.gguf'), join(folder, 'p-00001-of-00002.gguf'));
  await writeFile(join(folder, 'models.json'), JSON.stringify({ models }));
});
afterAll(() => rm(folder, { recursive: true }));

const ownCache = () => ({ TURNGRAPH_CACHE: join(folder, 'cache') });
const suggest = (...args: readonly string[]) =>
  runCommand(
    ['models', 'suggest', '--catalogue', join(folder, 'models.json'), '--gpu', 'off', ...args],
    '',
    ownCache(),
  );

describe('turngraph models suggest', () => {
  it('lists what fits first, and says what is unknown', async () => {
    const { out, err, code } = await suggest();
    expect({ err, code }).toEqual({ err: '', code: 0 });
    const [machine, empty, heading, ...rows] = out.trimEnd().split('\n');
    expect(machine).toMatch(/ of memory free, no graphics card, memory bandwidth [\d.]+ [MG]B\/s$/);
    expect([empty, heading]).toEqual([
      '',
      expect.stringMatching(/^model +fits +size +KV cache of a slot +decode +status$/),
    ]);
    expect(rows.find((row) => row.startsWith('turngraph-demo '))).toMatch(
      /^turngraph-demo +in memory +11\.4 MB +4\.6 MB +about [\d.]+ tokens\/s +LOCAL$/,
    );
    expect(rows.find((row) => row.startsWith('mystery'))).toMatch(
      /^mystery +unknown +unknown +perhaps 1\.1 GB +unknown +ABSENT$/,
    );
    expect(rows.find((row) => row.startsWith('huge'))).toMatch(
      /^huge +no +about 1800\.0 GB +perhaps 1\.1 GB +unknown +ABSENT$/,
    );
  });

  it('does not suggest what cannot be loaded, and says why, as info does', async () => {
    const rows = (await suggest()).out.split('\n');
    const reasons = { page: 'it is no GGUF file: give one that is', parts: 'part 2 of 2 is missing' };
    for (const [name, reason] of Object.entries(reasons)) {
      expect(rows.find((row) => row.startsWith(`${name} `))).toMatch(
        new RegExp(`^${name} +no .* unknown +LOCAL: .*${reason}`),
      );
      const info = await runCommand(['models', 'info', name, '--catalogue', join(folder, 'models.json')]);
      expect(info.out).toMatch(new RegExp(`^problem: +.*${reason}`, 'm'));
    }
  });

  it('estimates a speed of the order that the doctor measures, and the memory of a slot', async () => {
    const { machine, models } = JSON.parse((await suggest('--json')).out) as {
      readonly machine: TargetMachine;
      readonly models: readonly Suggestion[];
    };
    const demo = models.find(({ name }) => name === 'turngraph-demo');
    expect(machine).toMatchObject({ card: null, bandwidth: expect.any(Number) as unknown, slots: 0 });
    expect(demo).toMatchObject({ fit: 'memory', status: 'LOCAL', contextSize: 640 });
    const args = ['doctor', 'turngraph-demo', '--quick', '--json', '--gpu', 'off', '--threads', '1', '--slots', '1'];
    const { speed, model } = JSON.parse((await runCommand(args, '', ownCache())).out) as Diagnosis;
    const ratio = (demo?.tokensPerSecond ?? 0) / (speed.decodePerSecond ?? NaN);
    // Generous: other programs use the cores of the machine while this runs.
    expect(ratio).toBeGreaterThan(1 / 30);
    expect(ratio).toBeLessThan(30);
    // What llama.cpp allocates also has compute buffers.
    expect(demo?.slotBytes.value).toBeLessThanOrEqual(model.memory.slots.ram);
    expect(demo?.slotBytes.value).toBeGreaterThan(model.memory.slots.ram / 4);
    expect(demo?.isMeasured).toBe(false);
    expect((await suggest()).out).toMatch(
      new RegExp(`^turngraph-demo .* ${Number(speed.decodePerSecond?.toPrecision(2))} tokens/s, measured +LOCAL$`, 'm'),
    );
  });

  it('reads the shape of the KV cache from a file, and from no other', async () => {
    expect(await readKvCacheShape(repositoryPath('models/turngraph-demo.gguf'))).toEqual({
      trainedContext: 2048,
      bytesPerToken: 7168,
    });
    expect(await readKvCacheShape(repositoryPath('package.json'))).toBeUndefined();
  });
});
