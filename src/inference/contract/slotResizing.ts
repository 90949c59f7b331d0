import type { MemoryUse } from './modelMemory.ts';
import type { ModelStats } from './modelStats.ts';

/** What a model asks and tells the owner of the memory when its number of slots changes while it is loaded. */
export interface SlotResizing {
  /** Whether it may take so much in all from now on. Less than before is always granted. */
  readonly requestMemory: (use: MemoryUse) => Promise<boolean>;
  /** It has another number of slots now. */
  readonly onResized: (stats: ModelStats) => void;
}
