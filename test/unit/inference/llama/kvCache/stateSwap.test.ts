import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LlamaContextSequence, Token } from 'node-llama-cpp';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { BatchTimer } from '../../../../../src/inference/llama/batching/batchTimer.ts';
import { StateSwap } from '../../../../../src/inference/llama/kvCache/stateSwap.ts';
import type { StateFile } from '../../../../../src/inference/llama/cacheFiles.ts';

let folder: string;
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'turngraph-'))));
afterAll(() => rm(folder, { recursive: true }));

const prompt = Array.from({ length: 100 }, (_, token) => token as Token);

/** A KV cache that holds so many tokens, of which so many begin the prompt. */
function fakeCache(tokens: number, shared: number) {
  const saveStateToFile = vi.fn(async (path: string) => {
    await writeFile(path, 'state');
    return { fileSize: 5 };
  });
  const loadStateFromFile = vi.fn(async () => undefined);
  const cache = {
    nextTokenIndex: tokens,
    needsCheckpoints: false,
    compareContextTokens: () => ({ firstDifferentIndex: shared }),
    // A recurrent state does not depend on the number of sequences.
    model: { fileInsights: { isRecurrent: true, isHybrid: false } },
    context: { totalSequences: 4 },
    saveStateToFile,
    loadStateFromFile,
  };
  return { cache: cache as unknown as LlamaContextSequence, saveStateToFile, loadStateFromFile };
}

/** A swap whose store has room for a file, or not. */
function createSwap(hasRoom = true) {
  const drop = vi.fn(async () => undefined);
  const file: StateFile = { path: join(folder, 'a.state'), commit() {}, beginRead() {}, drop };
  const store = { reserve: vi.fn(async () => (hasRoom ? file : undefined)), writeFailed: vi.fn() };
  return { swap: new StateSwap(store, new BatchTimer(() => undefined), 10), drop, ...store };
}

describe('a copy of the state of another slot', () => {
  it('is written and read where it holds much more of the prompt', async () => {
    const { swap, drop, reserve } = createSwap();
    const [source, target] = [fakeCache(80, 60), fakeCache(0, 0)];
    await swap.copy(source.cache, target.cache, prompt);
    expect(reserve).toHaveBeenCalledOnce();
    expect(target.loadStateFromFile).toHaveBeenCalledOnce();
    expect(drop).toHaveBeenCalledOnce();
  });

  it.each([
    ['it would gain few tokens', 60, 50, true],
    ['the store has no room', 60, 0, false],
  ])('is not made where %s', async (_, shared, own, hasRoom) => {
    const { swap } = createSwap(hasRoom);
    const [source, target] = [fakeCache(80, shared), fakeCache(own, own)];
    await swap.copy(source.cache, target.cache, prompt);
    expect(source.saveStateToFile).not.toHaveBeenCalled();
    expect(target.loadStateFromFile).not.toHaveBeenCalled();
  });

  it('is given up for a while where it cannot be written, and the slot stays as it is', async () => {
    const { swap, drop, reserve, writeFailed } = createSwap();
    const [source, target] = [fakeCache(80, 60), fakeCache(0, 0)];
    source.saveStateToFile.mockRejectedValue(new Error('the disk is full'));
    await swap.copy(source.cache, target.cache, prompt);
    await swap.copy(source.cache, target.cache, prompt);
    expect([reserve.mock.calls.length, writeFailed.mock.calls.length, drop.mock.calls.length]).toEqual([1, 1, 1]);
    expect(target.loadStateFromFile).not.toHaveBeenCalled();
  });

  it('is given up for a while where the folder cannot be made', async () => {
    const { swap, reserve, writeFailed } = createSwap();
    reserve.mockRejectedValue(new Error('no permission'));
    const [source, target] = [fakeCache(80, 60), fakeCache(0, 0)];
    await swap.copy(source.cache, target.cache, prompt);
    await swap.copy(source.cache, target.cache, prompt);
    expect([reserve.mock.calls.length, writeFailed.mock.calls.length]).toEqual([1, 1]);
  });

  it('fails where it cannot be read, and leaves no file', async () => {
    const { swap, drop } = createSwap();
    const [source, target] = [fakeCache(80, 60), fakeCache(0, 0)];
    target.loadStateFromFile.mockRejectedValue(new Error('the file is damaged'));
    await expect(swap.copy(source.cache, target.cache, prompt)).rejects.toThrow('damaged');
    expect(drop).toHaveBeenCalledOnce();
  });
});
