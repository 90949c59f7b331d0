import type { Client } from '../../src/client/index.ts';
import type { Overheard } from './traceTokens.mjs';

/** As much of a server as a trial needs to have its agents speak. */
export interface Stage {
  connect(codec: 'proto' | 'json'): Promise<Client>;
  /** What was overheard since it was last asked. */
  heard(): readonly Overheard[];
}

/** What came of a trial. */
export interface Result<Figures> {
  readonly ok: boolean;
  readonly figures: Figures;
  /** A sentence for each thing that is not as it should be. */
  readonly faults: readonly string[];
}

/** How large a trial is. */
export interface Extent {
  readonly model: string;
  readonly agents: number;
  readonly log?: (line: string) => void;
}
