import { noModelMemory } from '../contract/memory.ts';

/** Statistics of a model of the mock engine, which has neither slots nor memory. */
export const mockStats = {
  backend: 'mock',
  gpuLayers: 0,
  memory: noModelMemory,
  threads: 0,
  prefillThreads: 0,
  slots: 0,
  slotsBusy: 0,
  waiting: 0,
  checkpointBytes: 0,
  statesSaved: 0,
  statesRestored: 0,
  promptsRestored: 0,
  stateBytes: 0,
} as const;
