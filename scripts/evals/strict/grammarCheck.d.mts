import type { Model } from '../../../src/engine/engine.ts';
import type { CallGrammar, ToolChoice } from '../../../src/tools/grammar/grammar.ts';
import type { Tool, ToolCallFormat } from '../../../src/tools/tool.ts';

/** What came of a trial. */
export interface Tally {
  readonly complete: number;
  /** Generations that ended inside a bound piece. */
  readonly cut: number;
  /** A sentence for each piece that is not as it should be. */
  readonly wrong: readonly string[];
  readonly tokens: number;
  readonly milliseconds: number;
}

interface Extent {
  readonly count: number;
  readonly seed?: number;
}

export function tryCalls(
  model: Model,
  trial: Extent & { readonly format: ToolCallFormat; readonly tools: readonly Tool[]; readonly choice: ToolChoice },
): Promise<Tally>;
export function tryJson(
  model: Model,
  trial: Extent & { readonly grammar: CallGrammar; readonly schema: object },
): Promise<Tally>;
