import { defaultServerOptions } from './config.ts';
import { mockEngine } from '../inference/mock/engine.ts';
import { describeError, Fault } from '../protocol/fault.ts';
import { type GraphFault, graphFaultsIn } from '../graph/compile/document.ts';
import type { Registry } from '../graph/compile/registry.ts';
import type { Catalogue } from '../inference/models/catalogue/catalogue.ts';
import type { ChooseModel } from '../inference/models/suggestions/chooseModel.ts';
import { ModelPool } from '../inference/models/pool/pool.ts';
import { StorageRoot } from '../graph/storage/storageRoot.ts';
import { SessionStorages } from '../graph/storage/sessionStorages.ts';
import { Agent } from '../graph/agent/agent.ts';

/** Errors and lint warnings of a graph. */
export interface GraphCheckResult {
  readonly faults: readonly GraphFault[];
  readonly warnings: readonly string[];
}

/** What a graph is validated against. */
export interface CheckContext {
  readonly registry: Registry;
  readonly catalogue: Catalogue;
  /** Folder of the storage files. */
  readonly storageRoot: string;
  /** As `AgentOptions.choose`. */
  readonly choose?: ChooseModel;
  /** What else is to be said of a model that the graph names. */
  readonly notesOf?: (modelName: string) => Promise<readonly string[]>;
}

/** Validates a graph as the server does: creates an agent with it, without model files, on a mock engine for any model. */
export async function checkGraph(
  graph: unknown,
  { registry, catalogue, storageRoot, choose, notesOf }: CheckContext,
): Promise<GraphCheckResult> {
  await using pool = new ModelPool(mockEngine({ limits: {} }), { ...poolSettings, catalogue });
  const storages = new SessionStorages(new StorageRoot(storageRoot), Infinity);
  try {
    const limits = defaultServerOptions();
    const given = { graph, registry, pool, storages, limits, ...(choose && { choose: withFallback(choose) }) };
    await using agent = await Agent.create({ ...given, id: 1, defaultModelName: '', turnTimeoutMs: 0 });
    const notes = await Promise.all(agent.models.names.map((name) => notesOf?.(name) ?? []));
    const chosen = choose ? agent.models.choices.map(({ reason }) => `on this machine ${reason}`) : [];
    return { faults: [], warnings: [...agent.warnings, ...notes.flat(), ...chosen] };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const faults = graphFaultsIn(error);
    // Faults outside the graph document (an unknown model, a missing storage file) have no detail, and so no pointer.
    const { name: code, message } = error;
    return { faults: faults.length > 0 ? faults : [{ code, pointer: '', message }], warnings: [] };
  }
}

/** A graph may be checked where none of its models can be used. */
const withFallback =
  (choose: ChooseModel): ChooseModel =>
  (names, failed) =>
    choose(names, failed).then(
      ({ name, reason }) => ({ name, reason: `the list takes the model "${name}": ${reason}` }),
      (error: unknown) => ({ name: names[0] ?? '', reason: describeError(error) }),
    );

// With `needsName` as for real models; the mock engine alone would not need one.
const poolSettings = { idleMs: 0, slots: 1, threads: 1, gpu: 'off', needsName: true } as const;
