import type { MarkFinder } from './markFinder.ts';
import type { ToolNameFinder } from './toolNames.ts';

/** What the search for markup knows. */
export interface MarkupContext {
  readonly finder: MarkFinder;
  /** The names of the declared tools. */
  readonly toolNames: ReadonlySet<string>;
  readonly names: ToolNameFinder;
  /** Whether JSON without a mark may be a call. */
  readonly isBareSearched: boolean;
}
