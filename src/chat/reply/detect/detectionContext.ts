import type { SkipReasoning } from '../reasoning/reasoningSpans.ts';
import type { CallKeys } from './callShape.ts';
import type { BlockContext, TagSet } from './tags.ts';

/** What the parsers of one text share. */
export interface DetectionContext extends BlockContext {
  /** The JSON keys of a call's name and arguments. */
  readonly keys: CallKeys;
  readonly tags: TagSet;
  /** Whether a call may begin with a thought. */
  readonly thought: boolean;
  readonly skipReasoning: SkipReasoning;
}
