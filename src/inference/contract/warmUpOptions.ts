import type { InferenceSchedule } from './pace.ts';

/** Options of a prefill. */
export interface WarmUpOptions extends InferenceSchedule {
  /**
   * Whether its state may be kept on disk, where sequences of all agents and of later servers start from it: only for a
   * prompt of a graph's own text, without words of a user. Default false.
   */
  readonly keep?: boolean;
}
