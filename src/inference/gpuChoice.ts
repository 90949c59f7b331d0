/** What a model may run on: `auto` = the best backend that there is, `off` = the CPU only, or a backend by name. */
export const gpuChoices = ['auto', 'off', 'vulkan', 'cuda', 'metal'] as const;

/** One of `gpuChoices`. */
export type GpuChoice = (typeof gpuChoices)[number];

/** The options of the server about graphics cards, as JSON Schemas by name. */
export const gpuOptions = {
  gpu: {
    type: 'string',
    enum: gpuChoices,
    default: 'auto',
    description: 'what models run on: the best there is, the CPU only, or a backend by name',
  },
  gpuLayers: {
    type: 'string',
    pattern: '^(auto|[0-9]{1,4})$',
    default: 'auto',
    description: 'auto or a number: layers of each model on the graphics card; auto = as many as fit',
  },
  gpuDevice: {
    type: 'integer',
    minimum: -1,
    maximum: 63,
    default: -1,
    description: 'the graphics card to use, from 0; -1 = all of them; for --engine-process child only',
  },
} as const;

/** How many layers of a model are on the graphics card; `auto`: as many as fit. */
export type GpuLayers = number | 'auto';

/** Which layers and which backend, where one of them is given for a model and for all of them. */
export interface GpuSettings {
  readonly gpu: GpuChoice;
  readonly gpuLayers?: GpuLayers | undefined;
}

/** The settings of one model: its own ones, else those of the server, whose `off` holds for all models. */
export function gpuSettingsFor(
  own: { readonly [Name in keyof GpuSettings]: GpuSettings[Name] | undefined },
  server: GpuSettings,
): GpuSettings {
  if (server.gpu === 'off') return { gpu: 'off' };
  return { gpu: own.gpu ?? server.gpu, gpuLayers: own.gpuLayers ?? server.gpuLayers };
}

/** Reads the text of a flag, which its schema has checked. */
export const parseGpuLayers = (text: string): GpuLayers => (text === 'auto' ? 'auto' : Number(text));
