import type { ModelStats } from '../contract/engine.ts';
import type { SlotResizing } from '../contract/memory.ts';
import type { ServerRequests } from './messages.ts';
import type { RequestHandlers } from './peer.ts';

/** Who hears of a model in an engine process. */
export interface ModelListener {
  /** Its statistics have changed. */
  readonly onStats: (stats: ModelStats) => void;
  /** Undefined: its number of slots is fixed. */
  readonly resizing: SlotResizing | undefined;
}

/** The models of one engine process, by the numbers that they have there. */
export class ModelListeners {
  readonly #listeners = new Map<number, ModelListener>();
  #lastModel = 0;

  readonly handlers: Pick<RequestHandlers<ServerRequests>, 'stats' | 'requestMemory' | 'resized'> = {
    stats: ({ params: { model, stats } }) => {
      this.#listeners.get(model)?.onStats(stats);
      return undefined;
    },
    requestMemory: async ({ params: { model, use } }) =>
      (await this.#listeners.get(model)?.resizing?.requestMemory(use)) ?? false,
    resized: ({ params: { model, stats } }) => {
      const listener = this.#listeners.get(model);
      listener?.onStats(stats);
      listener?.resizing?.onResized(stats);
      return undefined;
    },
  };

  /** @returns the number of the model. */
  add(listener: ModelListener): number {
    this.#listeners.set(++this.#lastModel, listener);
    return this.#lastModel;
  }

  delete(model: number): void {
    this.#listeners.delete(model);
  }
}
