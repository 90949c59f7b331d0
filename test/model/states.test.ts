import { mkdtemp, mkdir, readdir, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Model, Sequence } from '../../src/engine/engine.ts';
import { llamaEngine } from '../../src/engine/llama/engine.ts';
import { userPrompt, nextPrompt, longText, generate } from '../contracts/generation.ts';
import { BatchTimer } from '../../src/engine/llama/batching/batchTimer.ts';
import { demoFile } from './demo.ts';

describe('the states of sequences that lost their slot', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));
  // To evaluate takes so long that it is worth while to save a state, however slow the disk is.
  beforeEach(() => {
    const { end } = BatchTimer.prototype;
    vi.spyOn(BatchTimer.prototype, 'end').mockImplementation(function (this: BatchTimer) {
      end.call(this, performance.now() + 600_000);
    });
  });
  afterEach(() => vi.restoreAllMocks());

  /** A model with one slot and a limit of megabytes, while `work` lasts. */
  async function withModel(megabytes: number, work: (model: Model) => Promise<void>, cache = folder): Promise<void> {
    await using engine = llamaEngine({ folder: cache, maxStateBytes: megabytes * 1e6 });
    await work(await engine.load(demoFile, { contextSize: 1024, slots: 1, threads: 1, gpu: 'off' }));
  }

  /** All files of states, with their bytes. */
  async function files(cache = folder): Promise<{ readonly file: string; readonly size: number }[]> {
    const parent = join(cache, 'states');
    const names = await readdir(parent, { recursive: true }).catch(() => []);
    const found: { readonly file: string; readonly size: number }[] = [];
    for (const name of names) {
      const status = await stat(join(parent, name));
      if (status.isFile()) found.push({ file: join(parent, name), size: status.size });
    }
    return found;
  }

  const long = (name: string) => userPrompt(`My name is ${name}. ${longText(30)}`, `You are ${name}'s lamp.`);
  const names = ['Ann', 'Bob', 'Cid'];

  async function both(sequence: Sequence, name: string): Promise<readonly string[]> {
    const first = await generate(sequence, long(name));
    const second = await generate(sequence, nextPrompt(long(name), first.text, 'How are you?'));
    return [first.text, second.text];
  }

  it('come back when their owner speaks again, who then reads only what is new and says the same', () =>
    withModel(500, async (model) => {
      const expected: (readonly string[])[] = [];
      for (const name of names) {
        const alone = model.openSequence();
        expected.push(await both(alone, name));
        await alone[Symbol.asyncDispose]();
      }
      const sequences = names.map((name) => ({ name, sequence: model.openSequence() }));
      const firsts: string[] = [];
      for (const { name, sequence } of sequences) firsts.push((await generate(sequence, long(name))).text);
      const seconds: string[] = [];
      for (const [index, { name, sequence }] of sequences.entries()) {
        const { text, tokens } = await generate(sequence, nextPrompt(long(name), firsts[index] ?? '', 'How are you?'));
        expect(tokens.prompt - tokens.reused).toBeLessThan(25);
        seconds.push(text);
      }
      expect(names.map((_, index) => [firsts[index], seconds[index]])).toEqual(expected);
      expect(model.stats()).toMatchObject({ statesSaved: 5, statesRestored: 3 });
    }));

  it('take no more of the disk than they may', () =>
    withModel(8, async (model) => {
      const sequences = names.map((name) => ({ name, sequence: model.openSequence() }));
      for (const { name, sequence } of [...sequences, ...sequences]) {
        await generate(sequence, long(name));
        const bytes = (await files()).reduce((sum, { size }) => sum + size, 0);
        expect(bytes).toBeLessThanOrEqual(8e6);
        expect(model.stats().stateBytes).toBe(bytes);
      }
      expect(model.stats().statesSaved).toBeGreaterThan(2);
    }));

  it('are evaluated anew where the disk has lost or refuses them', () =>
    withModel(500, async (model) => {
      const [ann, bob] = [model.openSequence(), model.openSequence()];
      const expected = await both(ann, 'Ann');
      for (const spoil of [(file: string) => rm(file), (file: string) => truncate(file, 5000)]) {
        const first = await generate(ann, long('Ann'));
        await generate(bob, long('Bob'));
        for (const { file } of await files()) await spoil(file);
        const { text } = await generate(ann, nextPrompt(long('Ann'), first.text, 'How are you?'));
        expect([first.text, text]).toEqual(expected);
      }
      const notAFolder = join(folder, 'file');
      await writeFile(notAFolder, '');
      await withModel(
        500,
        async (other) => {
          const sequences = names.map((name) => ({ name, sequence: other.openSequence() }));
          for (const { name, sequence } of sequences) await generate(sequence, long(name));
          for (const { name, sequence } of sequences) expect((await generate(sequence, long(name))).text).not.toBe('');
          expect(other.stats()).toMatchObject({ statesSaved: 0, stateBytes: 0 });
        },
        notAFolder,
      );
    }));

  it('are removed when their owner goes, and all of them when the engine goes', async () => {
    await withModel(500, async (model) => {
      const [ann, bob, cid] = names.map(() => model.openSequence());
      if (!ann || !bob || !cid) throw new Error('no sequence');
      for (const [name, sequence] of [
        ['Ann', ann],
        ['Bob', bob],
        ['Cid', cid],
      ] as const)
        await generate(sequence, long(name));
      expect(await files()).toHaveLength(2);
      await ann[Symbol.asyncDispose]();
      expect(await files()).toHaveLength(1);
      // Cid has the slot, and goes before anybody takes it.
      await cid[Symbol.asyncDispose]();
      await generate(model.openSequence(), long('Dan'));
      expect(await files()).toHaveLength(1);
    });
    expect(await readdir(join(folder, 'states'))).toEqual([]);
  });

  it('of a server that was killed are removed by the next, and never those of one that lives', async () => {
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
    // A process in a container had the number that this one has now.
    const beforeThis = new Date(Date.now() - process.uptime() * 1000 - 60_000);
    await utimes(join(folder, 'states', folders.before), beforeThis, beforeThis);
    await withModel(500, async (model) => {
      for (const name of names) await generate(model.openSequence(), long(name));
    });
    const left = await readdir(join(folder, 'states'));
    expect(left.toSorted()).toEqual([folders.living, folders.elsewhere, folders.foreign].toSorted());
  });

  it('are not kept where none may be', () =>
    withModel(0, async (model) => {
      for (const name of names) await generate(model.openSequence(), long(name));
      expect(await files()).toEqual([]);
    }));
});
