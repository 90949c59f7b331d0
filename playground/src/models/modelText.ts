import type { ModelInfo, ModelProgress, SuggestedModel, SuggestModelsResponse } from '../../../src/client/index.ts';

/** A name of a model and a value of it, as texts. */
export interface ModelDetail {
  readonly label: string;
  readonly value: string;
  /** What it means, where the label does not say it. */
  readonly hint?: string;
}

const statusTexts: Readonly<Record<ModelInfo['status'], string>> = {
  ABSENT: 'not on disk',
  DOWNLOADING: 'downloading',
  DOWNLOADED: 'on disk',
  LOCAL: 'on disk (your file)',
  LOADED: 'loaded',
};

/** The status of a model, in words. */
export const statusText = ({ status }: ModelInfo): string => statusTexts[status];

/** A number of bytes, as people read it: `1.5 GiB`. */
export function bytesText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[power]}`;
}

/** How far a load or a download is; "…" until the server says it. */
export function progressText({ progress }: { readonly progress?: ModelProgress | undefined }): string {
  if (!progress) return '…';
  const percent = `${Math.floor(progress.fraction * 100)} %`;
  const { phase, bytesDone, bytesTotal } = progress;
  return phase === 'DOWNLOADING' && bytesTotal > 0
    ? `${percent}, ${bytesText(bytesDone)} of ${bytesText(bytesTotal)}`
    : percent;
}

const countText = (count: number): string => count.toLocaleString('en-US');
const speedText = (speed: number): string => speed.toLocaleString('en-US', { maximumSignificantDigits: 3 });

/** What the catalogue says of a model. */
export function catalogueDetails(model: ModelInfo): readonly ModelDetail[] {
  const { sizeBytes, contextSize, toolCallFormat, toolCallFormatDetected, license, tokensPerSecond, choice } = model;
  return [
    { label: 'Size', value: sizeBytes > 0 ? bytesText(sizeBytes) : 'not known' },
    { label: 'Context', value: contextSize > 0 ? `${countText(contextSize)} tokens` : "the model's own" },
    {
      label: 'Format of calls',
      value: (toolCallFormat || 'not known until it is loaded') + (toolCallFormatDetected ? ' (detected)' : ''),
    },
    ...(license === '' ? [] : [{ label: 'Licence', value: license }]),
    ...(tokensPerSecond > 0 ? [{ label: 'Measured speed', value: `${speedText(tokensPerSecond)} tokens/s` }] : []),
    ...(choice === '' ? [] : [{ label: 'In the last list', value: choice }]),
  ];
}

/** What a loaded model uses; none while it is not loaded. */
export function memoryDetails(model: ModelInfo): readonly ModelDetail[] {
  if (model.status !== 'LOADED') return [];
  const { weightsBytes, contextBytes, slots, slotBytes, vramBytes, backend, gpuLayers } = model;
  return [
    { label: 'Weights in memory', value: bytesText(weightsBytes) },
    { label: 'Context in memory', value: bytesText(contextBytes), hint: 'KV caches of all slots, and compute buffers' },
    { label: 'Slots', value: `${slots} of ${bytesText(slotBytes)}`, hint: 'Sequences that are in memory at a time' },
    { label: 'On graphics cards', value: vramBytes > 0 ? bytesText(vramBytes) : 'none' },
    { label: 'Backend', value: backend + (gpuLayers > 0 ? `, ${gpuLayers} layers on the GPU` : '') },
    { label: 'Threads', value: threadsText(model) },
    { label: 'Agents', value: countText(model.agents) },
  ];
}

const threadsText = ({ threads, prefillThreads }: ModelInfo): string =>
  prefillThreads === threads || prefillThreads === 0 ? String(threads) : `${threads}, ${prefillThreads} for prefill`;

/** The computer that models are suggested for. */
export function machineText({ machine }: Pick<SuggestModelsResponse, 'machine'>): string {
  if (!machine) return '';
  const { freeMemoryBytes, memoryBytes, cores, cards, freeCardMemoryBytes, problem } = machine;
  const card =
    cards.length === 0 ? 'no graphics card' : `${cards.join(', ')} with ${bytesText(freeCardMemoryBytes)} free`;
  return [
    `${bytesText(freeMemoryBytes)} of ${bytesText(memoryBytes)} memory free`,
    `${cores} cores`,
    problem === '' ? card : problem,
  ].join(', ');
}

/** Why a model is suggested, how fast it is, and what is to be downloaded. */
export function suggestionText({ why, tokensPerSecond, memoryBytes, downloadBytes }: SuggestedModel): string {
  return [
    why,
    ...(tokensPerSecond > 0 ? [`about ${tokensPerSecond} tokens per second`] : []),
    `${bytesText(memoryBytes)} of memory`,
    downloadBytes > 0 ? `${bytesText(downloadBytes)} to download` : 'on disk',
  ].join(', ');
}

/** The models that have all words of a text in their name, description, status or format. */
export function filterModels(models: readonly ModelInfo[], filter: string): readonly ModelInfo[] {
  const words = filter.toLowerCase().split(/\s+/);
  return models.filter((model) => {
    const text = `${model.name} ${model.description} ${statusText(model)} ${model.toolCallFormat}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
