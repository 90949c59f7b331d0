import type { LoadOptions, Model } from '../../contract/engine.ts';
import { Fault } from '../../../protocol/fault.ts';
import type { CatalogueEntry } from '../catalogue/catalogue.ts';
import type { OnProgress } from './loadWait.ts';
import type { IdleModel, MemoryHold } from './memoryBudget.ts';

/** Record of one model that is loaded or loading; `ModelPool` has the table of its states. */
export interface LoadedModel {
  /** The catalogue entry that it was loaded with; the catalogue may have another one since. */
  readonly entry: CatalogueEntry;
  /** The load; stays after it has settled. */
  readonly loading: Promise<Model>;
  readonly loadAbort: AbortController;
  /** Absent while loading. */
  model?: Model;
  /** Receive the progress of the load. */
  readonly listeners: Set<OnProgress>;
  /** Leases, and callers that wait for one. */
  uses: number;
  /** Keeps it loaded without a lease. */
  pinned: boolean;
  /** Unloads it; set while it is idle. */
  idleTimer?: NodeJS.Timeout;
  /** When its last lease was released, by `performance.now()`. */
  lastUse: number;
  /** What it has of the memory budget; absent: while it is loading, or without a budget. */
  hold?: MemoryHold;
}

/** Entry of models without a name, for engines without files, such as the mock engine. */
export const unnamedEntry: CatalogueEntry = {
  name: '',
  description: '',
  tool_call_format: '',
  default_sampling: {},
  purpose: 'chat',
  min_tokens_per_second: 0,
  variants: [],
  file: undefined,
};

/** State of one model of a pool, as metrics and clients see it; without a record it is not in memory. */
export function modelState({ model, pinned = false, uses = 0 }: Partial<LoadedModel> = {}) {
  return {
    loaded: model !== undefined && model.supervision?.fault === undefined,
    pinned,
    /** Leases, and callers that wait for one. */
    uses,
    /** Tokens; 0 = not loaded. */
    contextSize: model?.contextSize ?? 0,
    detectedFormat: model?.toolDialect.format,
    stats: model?.stats(),
  };
}

/** Checks that a model was not given up after crashes. `retry`: loads it again then. @throws Fault MODEL_LOAD_FAILED */
export async function assertNotGivenUp(
  { supervision }: Model,
  retry: boolean,
  { signal, onProgress }: Pick<LoadOptions, 'signal' | 'onProgress'>,
): Promise<void> {
  if (!supervision?.fault) return;
  if (!retry) throw supervision.fault;
  await supervision.restart({ ...(signal && { signal }), ...(onProgress && { onProgress }) });
}

/** The models that neither a lease nor a pin keeps in memory. */
export const idleModels = (
  records: ReadonlyMap<string, LoadedModel>,
  unload: (name: string, record: LoadedModel) => Promise<void>,
): readonly IdleModel[] =>
  [...records]
    .filter(([, { model, uses, pinned }]) => model && uses === 0 && !pinned)
    .map(([name, record]) => ({ lastUse: record.lastUse, unload: () => unload(name, record) }));

/** Checks that a model is idle. @throws Fault MODEL_IN_USE if it is leased, loading or pinned. */
export function assertUnused(name: string, { model, uses, pinned }: LoadedModel): void {
  const reason = model ? `is used by agents (${uses}); destroy them first` : 'is being loaded; wait for that';
  if (uses > 0) throw new Fault('MODEL_IN_USE', `"${name}" ${reason}`);
  if (pinned) throw new Fault('MODEL_IN_USE', `"${name}" is loaded to stay; unload it first`);
}
