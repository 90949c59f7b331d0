import { getLlama, type Llama } from 'node-llama-cpp';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { LlamaInstancePool } from '../../../../src/engine/llama/llamaInstances.ts';

vi.mock('node-llama-cpp', () => ({ getLlama: vi.fn(), LlamaLogLevel: {} }));

const create = vi.mocked(getLlama);
const newInstance = (): Llama => ({ dispose: vi.fn() }) as unknown as Llama;

beforeEach(() => create.mockReset().mockImplementation(async () => newInstance()));

describe('the pool of Llama instances', () => {
  it('gives the instance that is prepared to the first load, also while it is created', async () => {
    const pool = new LlamaInstancePool();
    const preparing = pool.prepare('off');
    const first = await pool.acquire('off');
    await preparing;
    expect(create).toHaveBeenCalledOnce();
    expect(await pool.acquire('off')).not.toBe(first);
    expect(create).toHaveBeenCalledTimes(2);
  });

  it('keeps a prepared instance for the first load with the same setting of the GPU', async () => {
    const pool = new LlamaInstancePool();
    await pool.prepare('auto');
    await pool.acquire('off');
    await pool.acquire('auto');
    expect(create.mock.calls.map(([options]) => options)).toMatchObject([{ gpu: 'auto' }, { gpu: false }]);
  });

  it('gives a released instance to the next load', async () => {
    const pool = new LlamaInstancePool();
    const instance = await pool.acquire('off');
    pool.release('off', instance);
    expect(await pool.acquire('off')).toBe(instance);
  });

  it('tries again after an instance could not be prepared', async () => {
    const pool = new LlamaInstancePool();
    create.mockRejectedValueOnce(new Error('no memory'));
    await expect(pool.prepare('off')).rejects.toThrow('no memory');
    await expect(pool.acquire('off')).resolves.toBeDefined();
  });
});
