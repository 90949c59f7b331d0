import { getLlamaGpuTypes, type Llama } from 'node-llama-cpp';
import { Fault } from '../../protocol/fault.ts';
import type { GpuChoice } from '../contract/engine.ts';
import { libraryPackage } from './libraryFault.ts';

/** Why a named backend cannot be used on this machine, and what can. */
export async function unavailableBackendFault(gpu: GpuChoice, cause?: unknown): Promise<Fault> {
  const types = await getLlamaGpuTypes('supported').catch(() => []);
  const available = ['auto', 'off', ...types.filter((type) => type !== false && type !== gpu)];
  const listed = available.map((name) => `"${name}"`).join(', ');
  const message =
    `the GPU backend "${gpu}" is not available on this machine: choose one of ${listed} with --gpu, or as gpu of the model ` +
    `in models.json, or ${installHint(gpu)}`;
  return new Fault('MODEL_LOAD_FAILED', message, { cause });
}

function installHint(gpu: GpuChoice): string {
  const name = libraryPackage(process);
  if (gpu === 'metal') return 'use a Mac with an Apple processor';
  return name === undefined
    ? 'use another machine'
    : `install the npm package ${name}-${gpu} and the driver of the card`;
}

/**
 * Checks that the library runs on what was asked for: it takes another backend instead of one that a system never has, and
 * the CPU where the named device is none.
 * @throws Fault MODEL_LOAD_FAILED
 */
export async function assertBackend(llama: Llama, gpu: GpuChoice, device: number | undefined): Promise<void> {
  if (gpu === 'off') return;
  if (gpu !== 'auto' && llama.gpu !== gpu) throw await unavailableBackendFault(gpu);
  if (device === undefined) return;
  const names = llama.gpu === false ? [] : await llama.getGpuDeviceNames();
  if (names.length === 0)
    throw new Fault(
      'MODEL_LOAD_FAILED',
      llama.gpu === false
        ? `--gpu-device ${device}: there is no graphics card that can be used; leave --gpu-device out, or use --gpu off`
        : `--gpu-device ${device}: there is no such graphics card for ${llama.gpu}; cards count from 0`,
    );
}
