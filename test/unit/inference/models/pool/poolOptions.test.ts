import { describe, expect, it } from 'vitest';
import { gpuSettingsFor, type GpuSettings } from '../../../../../src/inference/models/pool/poolOptions.ts';
import { parseGpuLayers } from '../../../../../src/server/config.ts';

describe('the settings of a graphics card', () => {
  it.each<[string, Parameters<typeof gpuSettingsFor>[0], GpuSettings, GpuSettings]>([
    ['are those of the server', {}, { gpu: 'cuda', gpuLayers: 9 }, { gpu: 'cuda', gpuLayers: 9 }],
    [
      'are those of the model',
      { gpu: 'off', gpu_layers: 3 },
      { gpu: 'auto', gpuLayers: 9 },
      { gpu: 'off', gpuLayers: 3 },
    ],
    [
      'can be one of the model and one of the server',
      { gpu: 'vulkan' },
      { gpu: 'auto', gpuLayers: 9 },
      { gpu: 'vulkan', gpuLayers: 9 },
    ],
    [
      'can be automatic for a model alone',
      { gpu_layers: 'auto' },
      { gpu: 'auto', gpuLayers: 9 },
      { gpu: 'auto', gpuLayers: 'auto' },
    ],
    ['are off for all models of a server that is off', { gpu: 'cuda', gpu_layers: 3 }, { gpu: 'off' }, { gpu: 'off' }],
  ])('%s', (_, own, server, expected) => expect(gpuSettingsFor(own, server)).toEqual(expected));

  it('read layers from the text of a flag', () => {
    expect(['auto', '0', '24'].map(parseGpuLayers)).toEqual(['auto', 0, 24]);
  });
});
