import { defaultServerOptions, limitsOf } from '../config.ts';
import { mockEngine } from '../engine/mock/engine.ts';
import { Fault } from '../fault.ts';
import type { GraphFault } from '../graph/faults.ts';
import type { Registry } from '../graph/registry.ts';
import type { Catalogue } from '../models/catalogue/catalogue.ts';
import { ModelPool } from '../models/pool/pool.ts';
import { StorageRoot } from '../storage/storageRoot.ts';
import { SessionStorages } from '../storage/sessionStorages.ts';
import { Agent } from './agent.ts';

/** What is wrong with a graph, and what is hardly meant. */
export interface GraphCheckResult {
  readonly faults: readonly GraphFault[];
  readonly warnings: readonly string[];
}

/** What a graph is checked against. */
export interface CheckContext {
  readonly registry: Registry;
  readonly catalogue: Catalogue;
  /** Folder that storage files are read from. */
  readonly storageRoot: string;
}

/** Says of a graph document what the server would say: it is made as the server makes it, on an engine that needs no weights. */
export async function checkGraph(
  graph: unknown,
  { registry, catalogue, storageRoot }: CheckContext,
): Promise<GraphCheckResult> {
  await using pool = new ModelPool(mockEngine(), { ...poolSettings, catalogue });
  const storages = new SessionStorages(new StorageRoot(storageRoot), Infinity);
  try {
    await using agent = await Agent.create({ ...agentDefaults(), graph, registry, pool, storages });
    return { faults: [], warnings: agent.warnings };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { faults: toGraphFaults(error), warnings: [] };
  }
}

// Other faults than those of the graph itself (an unknown model, a storage that is not there) come alone, and have no pointer.
function toGraphFaults({ name, message, detail }: Fault): GraphCheckResult['faults'] {
  if (detail !== '') return JSON.parse(detail) as readonly GraphFault[];
  return [{ code: name, pointer: '', message }];
}

// Graphs are checked for real models, which have names.
const poolSettings = { idleMs: 0, slots: 1, threads: 1, gpu: 'off', needsName: true } as const;

const agentDefaults = () => ({
  id: 1,
  defaultModelName: '',
  diagnostics: false,
  maxSteps: 0,
  history: [],
  limits: limitsOf(defaultServerOptions()),
  turnTimeoutMs: 0,
});
