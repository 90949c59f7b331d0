import type { Fault } from '../../protocol/fault.ts';

/**
 * Supervision of a model whose engine process is started again when it crashes. After three crashes without a finished turn
 * between them it is given up.
 */
export interface ModelSupervision {
  /** Why the model was given up (MODEL_LOAD_FAILED); undefined while it can be used. */
  readonly fault: Fault | undefined;
  /** Loads the model again if it was given up. @throws Fault MODEL_LOAD_FAILED */
  restart(options: { readonly signal?: AbortSignal; readonly onProgress?: (fraction: number) => void }): Promise<void>;
  /** A turn with this model has finished: earlier crashes do not count any more. */
  turnFinished(): void;
}
