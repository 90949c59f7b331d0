import { getLlama, type Llama } from 'node-llama-cpp';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { LlamaInstancePool } from '../../../../src/inference/llama/llamaInstances.ts';

vi.mock('node-llama-cpp', () => ({
  getLlama: vi.fn(),
  getLlamaGpuTypes: async () => ['vulkan', false],
  LlamaLogLevel: {},
}));

const create = vi.mocked(getLlama);
const newInstance = (gpu: Llama['gpu'] = false, cards: readonly string[] = []): Llama =>
  ({ gpu, dispose: vi.fn(), getGpuDeviceNames: async () => cards }) as unknown as Llama;

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

  it('lends what it leaves to the next engine, except what has a card or is in use', async () => {
    const first = new LlamaInstancePool();
    const [kept, used] = [await first.acquire('off'), await first.acquire('off')];
    const withCard = newInstance('vulkan', ['A card']);
    create.mockResolvedValueOnce(withCard);
    first.release('vulkan', await first.acquire('vulkan'));
    first.release('off', kept);
    await first.dispose();
    expect(kept.dispose).not.toHaveBeenCalled();
    expect(used.dispose).toHaveBeenCalledOnce();
    expect(withCard.dispose).toHaveBeenCalledOnce();
    const next = new LlamaInstancePool();
    expect(await next.acquire('off')).toBe(kept);
    expect(await next.acquire('off')).not.toBe(kept);
    create.mockResolvedValueOnce(newInstance('vulkan', ['A card']));
    expect(await next.acquire('vulkan')).not.toBe(withCard);
    await next.dispose();
    expect(kept.dispose).toHaveBeenCalledOnce();
  });

  it('tries again after an instance could not be prepared', async () => {
    const pool = new LlamaInstancePool();
    create.mockRejectedValueOnce(new Error('no memory'));
    await expect(pool.prepare('off')).rejects.toThrow('no memory');
    await expect(pool.acquire('off')).resolves.toBeDefined();
  });

  it.each(['vulkan', 'cuda', 'metal'] as const)('runs on %s where that is available', async (gpu) => {
    const instance = newInstance(gpu, ['A card']);
    create.mockResolvedValueOnce(instance);
    expect(await new LlamaInstancePool().acquire(gpu)).toBe(instance);
    expect(create).toHaveBeenCalledWith(expect.objectContaining({ gpu }));
  });

  it.each([
    ['cannot be loaded', () => create.mockRejectedValueOnce(new Error('NoBinaryFoundError'))],
    ['is replaced by the library', () => create.mockResolvedValueOnce(newInstance('vulkan'))],
    ['has a driver and no card', () => create.mockResolvedValueOnce(newInstance('cuda'))],
  ])('refuses a named backend that %s, and names what there is', async (_, prepare) => {
    prepare();
    await expect(new LlamaInstancePool().acquire('cuda')).rejects.toMatchObject({
      name: 'MODEL_LOAD_FAILED',
      message: expect.stringMatching(/^the GPU backend "cuda" is not available .* one of "auto", "off", "vulkan" with/),
    });
  });

  it.each([
    ['without any card', newInstance(false), /^--gpu-device 3: there is no graphics card that can be used; /],
    ['without that card', newInstance('cuda', []), /^--gpu-device 3: there is no such graphics card for cuda; /],
  ])('refuses a device %s', async (_, instance, message) => {
    create.mockResolvedValueOnce(instance);
    await expect(new LlamaInstancePool(3).acquire('auto')).rejects.toMatchObject({
      message: expect.stringMatching(message),
    });
  });

  it('says of a backend that cannot be loaded with a device that there may be no such card', async () => {
    create.mockRejectedValueOnce(new Error('NoBinaryFoundError'));
    await expect(new LlamaInstancePool(3).acquire('vulkan')).rejects.toMatchObject({
      message: expect.stringMatching(
        /^--gpu-device 3: there is no such graphics card for vulkan; .*; or the GPU backend/,
      ),
    });
  });

  it('takes the card of the device that is named, and none for a model on the CPU', async () => {
    const pool = new LlamaInstancePool(1);
    const instance = newInstance('vulkan', ['A card']);
    create.mockResolvedValueOnce(instance);
    expect(await pool.acquire('auto')).toBe(instance);
    await expect(pool.acquire('off')).resolves.toBeDefined();
  });
});
