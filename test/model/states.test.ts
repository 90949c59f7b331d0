import { mkdtemp, mkdir, readdir, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Model, Sequence } from '../../src/inference/contract/engine.ts';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import { userPrompt, nextPrompt, longText, generate } from '../contracts/generation.ts';
import { BatchTimer } from '../../src/inference/llama/batching/batchTimer.ts';
import { demoFile } from './demo.ts';

describe('the swapped-out KV states of evicted sequences', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));
  // Prefill seems so slow that swapping pays off on any disk.
  beforeEach(() => {
    const { end } = BatchTimer.prototype;
    vi.spyOn(BatchTimer.prototype, 'end').mockImplementation(function (this: BatchTimer) {
      end.call(this, performance.now() + 600_000);
    });
  });
  afterEach(() => vi.restoreAllMocks());

  /** Calls `work` with a model that has one slot and this limit of megabytes for states. */
  async function withModel(megabytes: number, work: (model: Model) => Promise<void>, cache = folder): Promise<void> {
    await using engine = llamaEngine({ folder: cache, maxStateBytes: megabytes * 1e6 });
    await work(await engine.load(demoFile, { contextSize: 1024, slots: 1, threads: 1, gpu: 'off' }));
  }

  /** All state files with their sizes in bytes. */
  async function listFiles(cache = folder): Promise<{ readonly file: string; readonly size: number }[]> {
    const parent = join(cache, 'states');
    const names = await readdir(parent, { recursive: true }).catch(() => []);
    const files: { readonly file: string; readonly size: number }[] = [];
    for (const name of names) {
      const status = await stat(join(parent, name));
      if (status.isFile()) files.push({ file: join(parent, name), size: status.size });
    }
    return files;
  }

  const longPrompt = (name: string) => userPrompt(`My name is ${name}. ${longText(12)}`, `You are ${name}'s lamp.`);
  const names = ['Ann', 'Bob', 'Cid'];

  async function generateTwoTurns(sequence: Sequence, name: string): Promise<readonly string[]> {
    const first = await generate(sequence, longPrompt(name));
    const second = await generate(sequence, nextPrompt(longPrompt(name), first.text, 'How are you?'));
    return [first.text, second.text];
  }

  it('are swapped in when their owner continues, which then prefills only new tokens', () =>
    withModel(500, async (model) => {
      const expected: (readonly string[])[] = [];
      for (const name of names) {
        const alone = model.openSequence();
        expected.push(await generateTwoTurns(alone, name));
        await alone[Symbol.asyncDispose]();
      }
      const sequences = names.map((name) => ({ name, sequence: model.openSequence() }));
      const firstTexts: string[] = [];
      for (const { name, sequence } of sequences) firstTexts.push((await generate(sequence, longPrompt(name))).text);
      const secondTexts: string[] = [];
      for (const [index, { name, sequence }] of sequences.entries()) {
        const { text, tokens } = await generate(
          sequence,
          nextPrompt(longPrompt(name), firstTexts[index] ?? '', 'How are you?'),
        );
        expect(tokens.prompt - tokens.reused).toBeLessThan(25);
        secondTexts.push(text);
      }
      expect(names.map((_, index) => [firstTexts[index], secondTexts[index]])).toEqual(expected);
      expect(model.stats()).toMatchObject({ statesSaved: 5, statesRestored: 3 });
    }));

  it('stay within the limit of disk space', () =>
    withModel(8, async (model) => {
      const sequences = names.map((name) => ({ name, sequence: model.openSequence() }));
      for (const { name, sequence } of [...sequences, ...sequences]) {
        await generate(sequence, longPrompt(name));
        const bytes = (await listFiles()).reduce((sum, { size }) => sum + size, 0);
        expect(bytes).toBeLessThanOrEqual(8e6);
        expect(model.stats().stateBytes).toBe(bytes);
      }
      expect(model.stats().statesSaved).toBeGreaterThan(2);
    }));

  it('are evaluated again when their file is missing, damaged or not writable', () =>
    withModel(500, async (model) => {
      const [ann, bob] = [model.openSequence(), model.openSequence()];
      const expected = await generateTwoTurns(ann, 'Ann');
      const lengths = [0, 10, 5000, 100_000, -1];
      const cuts = lengths.map(
        (length) => (file: string, size: number) => truncate(file, length < 0 ? size - 1 : length),
      );
      for (const damage of [(file: string) => rm(file), ...cuts]) {
        const first = await generate(ann, longPrompt('Ann'));
        await generate(bob, longPrompt('Bob'));
        for (const { file, size } of await listFiles()) await damage(file, size);
        const { text } = await generate(ann, nextPrompt(longPrompt('Ann'), first.text, 'How are you?'));
        expect([first.text, text]).toEqual(expected);
      }
      const notAFolder = join(folder, 'file');
      await writeFile(notAFolder, '');
      await withModel(
        500,
        async (other) => {
          const sequences = names.map((name) => ({ name, sequence: other.openSequence() }));
          for (const { name, sequence } of sequences) await generate(sequence, longPrompt(name));
          for (const { name, sequence } of sequences)
            expect((await generate(sequence, longPrompt(name))).text).not.toBe('');
          expect(other.stats()).toMatchObject({ statesSaved: 0, stateBytes: 0 });
        },
        notAFolder,
      );
    }));

  it('are deleted when their owner is disposed of, and all of them with the engine', async () => {
    await withModel(500, async (model) => {
      const [ann, bob, cid] = names.map(() => model.openSequence());
      if (!ann || !bob || !cid) throw new Error('no sequence');
      for (const [name, sequence] of [
        ['Ann', ann],
        ['Bob', bob],
        ['Cid', cid],
      ] as const)
        await generate(sequence, longPrompt(name));
      expect(await listFiles()).toHaveLength(2);
      await ann[Symbol.asyncDispose]();
      expect(await listFiles()).toHaveLength(1);
      // Cid has the slot, and is disposed of before another sequence takes it.
      await cid[Symbol.asyncDispose]();
      await generate(model.openSequence(), longPrompt('Dan'));
      expect(await listFiles()).toHaveLength(1);
    });
    expect(await readdir(join(folder, 'states'))).toEqual([]);
  });

  it('of a killed server are deleted by the next one, those of a running server never', async () => {
    const folders = {
      killed: `${hostname()}-999999999-0123456789ab`,
      living: `${hostname()}-${process.ppid}-0123456789ab`,
      elsewhere: 'other.host-1-0123456789ab',
      forgotten: 'other.host-2-0123456789ab',
      before: `${hostname()}-${process.pid}-0123456789ab`,
      foreign: 'notes',
    };
    for (const name of Object.values(folders)) {
      await mkdir(join(folder, 'states', name), { recursive: true });
      await writeFile(join(folder, 'states', name, '1.state'), 'state');
    }
    const lastWeek = new Date(Date.now() - 7 * 86_400_000);
    await utimes(join(folder, 'states', folders.forgotten), lastWeek, lastWeek);
    // An earlier process in a container had the process id of this one.
    const beforeStart = new Date(Date.now() - process.uptime() * 1000 - 60_000);
    await utimes(join(folder, 'states', folders.before), beforeStart, beforeStart);
    await withModel(500, async (model) => {
      for (const name of names) await generate(model.openSequence(), longPrompt(name));
    });
    const remaining = await readdir(join(folder, 'states'));
    expect(remaining.toSorted()).toEqual([folders.living, folders.elsewhere, folders.foreign].toSorted());
  });

  it('are not saved when the limit is 0', () =>
    withModel(0, async (model) => {
      for (const name of names) await generate(model.openSequence(), longPrompt(name));
      expect(await listFiles()).toEqual([]);
    }));
});
