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

/** Answers what an engine process says of its model. @param listener returns who hears of it now, if anyone. */
export const modelHandlers = (
  listener: () => ModelListener | undefined,
): Pick<RequestHandlers<ServerRequests>, 'stats' | 'requestMemory' | 'resized'> => ({
  stats({ params: { stats } }) {
    listener()?.onStats(stats);
    return undefined;
  },
  requestMemory: async ({ params: { use } }) => (await listener()?.resizing?.requestMemory(use)) ?? false,
  resized({ params: { stats } }) {
    listener()?.onStats(stats);
    listener()?.resizing?.onResized(stats);
    return undefined;
  },
});
