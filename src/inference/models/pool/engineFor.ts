import type { Engine } from '../../contract/engine.ts';
import { Fault } from '../../../protocol/fault.ts';
import type { CatalogueEntry } from '../catalogue/catalogue.ts';
import { isRemote } from '../catalogue/remoteEntry.ts';

/**
 * The engine that runs a model of a pool.
 * @throws Fault MODEL_LOAD_FAILED when other machines serve it, and there is no engine for that.
 */
export function engineFor(entry: CatalogueEntry, engine: Engine, remoteEngine: Engine | undefined): Engine {
  if (!isRemote(entry)) return engine;
  if (remoteEngine) return remoteEngine;
  // An engine without files runs whatever it is given.
  if (!engine.needsFiles) return engine;
  throw new Fault(
    'MODEL_LOAD_FAILED',
    `"${entry.name}" is served by other machines (engine http), and is not available here: use it through a server`,
  );
}
