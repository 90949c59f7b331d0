import type { ModelInfo } from '../../../src/client/index.ts';

const order: readonly ModelInfo['status'][] = ['LOADED', 'LOCAL', 'DOWNLOADED'];

/** Whether a model generates text. */
export const isChatModel = ({ purpose }: ModelInfo): boolean => purpose !== 'embedding';

/** The chat model that is proposed: one that is in memory, else one that is on disk; undefined: there is none. */
export function preferredModel(models: readonly ModelInfo[]): ModelInfo | undefined {
  for (const status of order) {
    const model = models.find((each) => each.status === status && isChatModel(each));
    if (model) return model;
  }
  return undefined;
}

/** Whether a model can be used without a download. */
export const isOnDisk = ({ status }: ModelInfo): boolean => order.includes(status);

/** The models on disk, then the others. */
export const onDiskFirst = (models: readonly ModelInfo[]): readonly ModelInfo[] =>
  models.toSorted((a, b) => Number(isOnDisk(b)) - Number(isOnDisk(a)));
