import type { Model, ModelStats } from '../../engine/engine.ts';
import { Fault } from '../../fault.ts';
import type { OnProgress } from './loadWait.ts';

/** A model that is in memory or on its way there. */
export interface LoadedModel {
  readonly loading: Promise<Model>;
  readonly loadAbort: AbortController;
  model: Model | undefined;
  readonly listeners: Set<OnProgress>;
  uses: number;
  pinned: boolean;
  idleTimer: NodeJS.Timeout | undefined;
}

/** What the pool knows of one model at this moment. */
export interface ModelState {
  readonly loaded: boolean;
  readonly pinned: boolean;
  readonly uses: number;
  readonly contextSize: number;
  readonly detectedFormat: string | undefined;
  readonly stats: ModelStats | undefined;
}

/** The state of a model; without a slot it is not in memory. */
export function modelState(slot: LoadedModel | undefined): ModelState {
  return {
    loaded: slot?.model !== undefined,
    pinned: slot?.pinned ?? false,
    uses: slot?.uses ?? 0,
    contextSize: slot?.model?.contextSize ?? 0,
    detectedFormat: slot?.model?.detectedFormat,
    stats: slot?.model?.stats(),
  };
}

/** Makes sure that nobody needs a model. @throws Fault MODEL_IN_USE */
export function assertUnused(name: string, { model, uses, pinned }: LoadedModel): void {
  const users = model ? `is used by agents (${uses}); destroy them first` : 'is being loaded; wait for that';
  if (uses > 0) throw new Fault('MODEL_IN_USE', `"${name}" ${users}`);
  if (pinned) throw new Fault('MODEL_IN_USE', `"${name}" is loaded to stay; unload it first`);
}
