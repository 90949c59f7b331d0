import { dirname } from 'node:path';
import type { ServerOptions } from '../../server/config.ts';
import { connect, type Client } from '../../client/index.ts';
import { maxTimeoutMs } from '../../client/options.ts';
import { mockEngine } from '../../inference/mock/engine.ts';
import type { MockScript, ScriptedRequest } from '../../inference/mock/script.ts';
import type { Engine } from '../../inference/contract/engine.ts';
import type { CatalogueEntry } from '../../inference/models/catalogue/catalogue.ts';
import type { EngineName } from '../../server/session/session.ts';
import type { Registry } from '../../graph/compile/registry.ts';
import { isObject } from '../../base/jsonTypes.ts';
import { loadExtension, registryWith } from '../../graph/nodes/index.ts';
import { describeFault, Fault } from '../../protocol/fault.ts';
import { graphFaultsIn } from '../../graph/compile/document.ts';
import { describeMistakes, type JsonFile } from '../findGraph.ts';
import { findModelFile } from '../catalogue.ts';
import { startOwnServer } from '../ownServer.ts';
import { CasesFileError, findMismatches, type CasesFile, type Mismatch } from './casesFile.ts';
import type { GraphCase } from './casesSchema.ts';
import { runCaseTurn, type TracedTurn } from './turnTrace.ts';

export interface CaseSessionOptions {
  readonly settings: ServerOptions;
  /** `--model`: a name in the catalogue, or a file; "" = the graph's own. */
  readonly model: string;
  /** Whether models are loaded; else only the mock engine runs. */
  readonly usesModels: boolean;
  /** Replaces the engine of the models, to know what they answer. */
  readonly watchEngine?: (engine: Engine) => Engine;
}

/** What the cases of all files share: servers, by the folder of the storage files, and the extension. */
export type CaseSession = Awaited<ReturnType<typeof openCaseSession>>;

/** Opens a session; its servers start when they are needed. */
export async function openCaseSession(options: CaseSessionOptions) {
  const { model, settings } = options;
  const modelFile = await findModelFile(model, settings);
  const registry = registryWith(await loadExtension(settings.extend));
  const servers = new Map<string, CaseServer>();
  return {
    settings,
    registry,
    /** The model of the nodes that name none; "" = the graph's own. */
    defaultModelName: modelFile?.name ?? model,
    /** The server for a graph. As in `check`, the storage files of a graph are in its folder. */
    async serverFor({ path }: JsonFile): Promise<CaseServer> {
      const storageRoot = settings.storageRoot || dirname(path);
      const server = servers.get(storageRoot) ?? (await startCaseServer(options, storageRoot, modelFile));
      servers.set(storageRoot, server);
      return server;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...servers.values()].map((server) => server[Symbol.asyncDispose]()));
    },
  };
}

/** Runs the cases of a file; faults of its graph are told with their place in the graph file. @throws CasesFileError */
export async function locatingFaults<T>(graph: JsonFile, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const message = describeMistakes(graph, graphFaultsIn(error)) || `${graph.path}: ${describeFault(error)}`;
    throw new CasesFileError(message, { cause: error });
  }
}

const maxConnectionRate = 100_000;

/** A server in this process that all cases with graphs of one folder share. */
export type CaseServer = Awaited<ReturnType<typeof startCaseServer>>;

/** Starts a server. @param storageRoot the folder of the storage files of the graphs. @param modelFile that of `--model`. */
async function startCaseServer(
  { settings, usesModels, watchEngine }: CaseSessionOptions,
  storageRoot: string,
  modelFile: CatalogueEntry | undefined,
) {
  const script = new ActiveScript();
  // A server with a script does not start a process for models.
  const mockScript = usesModels ? '' : 'the recording of each file';
  // Each file has a connection of its own, and many files take less than a second.
  const options = { ...settings, storageRoot, mockScript, maxConnectionRate };
  // The entries come later: whether one has a confidence is not known yet.
  const engines = { mock: mockEngine({ script: script.entries, limits: {} }) };
  const extraModels = modelFile ? [modelFile] : [];
  const server = await startOwnServer(options, { engines, extraModels, ...(watchEngine && { watchEngine }) });
  return {
    script,
    /** A client whose agents run on an engine. Storages are read anew for it. */
    async connect(engine: EngineName): Promise<Client> {
      const client = await connect(server.url, { limits: { idleTimeoutMs: maxTimeoutMs } });
      await client.configure({ engine });
      return client;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

export type UnansweredInference = Pick<ScriptedRequest, 'message' | 'node' | 'inference'>;

/** The mock script of a server whose cases have one each: it can be replaced while the server runs. */
class ActiveScript {
  /** For the engine. */
  readonly entries: MockScript[number][] = [];
  /** The inferences of the turn that no entry answered: the engine gave its own answer. */
  unanswered: readonly UnansweredInference[] = [];
  #place: Pick<ScriptedRequest, 'case' | 'turn'> = {};

  use(script: MockScript): void {
    const atPlace = script.map((entry) => ({
      ...entry,
      matches: (request: ScriptedRequest) => entry.matches({ ...request, ...this.#place }),
    }));
    // The last entry is asked only where no other one matches; it matches nothing.
    const last: MockScript[number] = {
      matches: ({ message, node, inference }) => {
        this.unanswered = [...this.unanswered, { message, node, inference }];
        return false;
      },
      reply: { answer: '', delay_ms: 0, chunk: 0 },
      scores: { scores: {}, delay_ms: 0 },
    };
    this.entries.splice(0, this.entries.length, ...atPlace, last);
  }

  /** Tells which turn of which case runs. */
  enter(name: string, turn: number): void {
    this.#place = { case: name, turn };
    this.unanswered = [];
  }
}

/** A graph whose nodes sample by the seed of a run: the first has the graph's, or 1. @param run from 1. */
export function seededGraph(graph: unknown, registry: Registry, run: number): unknown {
  if (!isObject(graph) || !isObject(graph['nodes'])) return graph;
  const nodes = Object.entries(graph['nodes']).map(([name, node]) => [name, seededNode(node, registry, run)] as const);
  return { ...graph, nodes: Object.fromEntries(nodes) };
}

function seededNode(node: unknown, registry: Registry, run: number): unknown {
  if (!isObject(node)) return node;
  const { sampling } = registry.get(String(node['type']))?.params.properties ?? {};
  if (sampling?.properties?.['seed'] === undefined) return node;
  const { params = {} } = node;
  if (!isObject(params)) return node;
  const { sampling: own = {} } = params;
  if (!isObject(own)) return node;
  const seed = typeof own['seed'] === 'number' && own['seed'] > 0 ? own['seed'] + run - 1 : run;
  return { ...node, params: { ...params, sampling: { ...own, seed } } };
}

/** A turn that has run, and what it did not do as expected. */
export interface CheckedTurn extends TracedTurn {
  readonly mismatches: readonly Mismatch[];
}

/** One run of a case: its turns until the first that failed. */
export interface CaseRun {
  readonly turns: readonly CheckedTurn[];
  readonly ok: boolean;
}

export interface CaseResult {
  readonly name: string;
  readonly runs: readonly CaseRun[];
  readonly passed: number;
  /** Whether enough runs passed. */
  readonly ok: boolean;
  readonly durationMs: number;
}

export interface CaseRunOptions {
  readonly client: Client;
  readonly runs: number;
  /** The share of the runs that must pass, from 0 to 1. */
  readonly minPass: number;
  /** Whether each run samples with a seed of its own, in place of that of the graph. */
  readonly isSeeded: boolean;
  /** Whether the turns tell which inference a call came from. Default false. */
  readonly enableDiagnostics?: boolean;
  readonly signal: AbortSignal;
  /** Told of each turn before it runs, from 1. */
  readonly onTurn?: (name: string, turn: number) => void;
  /** Notes of the turn that has run, besides its own. */
  readonly notesOfTurn?: () => readonly string[];
  readonly onWarnings?: (warnings: readonly string[]) => void;
  readonly onCase?: ((result: CaseResult) => void) | undefined;
}

// 9 of 10 runs are 0.9 of them, whatever the rounding.
const shareTolerance = 1e-9;

/** Runs the cases of a file one after the other. @throws Fault when the graph or a model cannot be used. */
export async function runCases(
  { cases, graph: { text } }: CasesFile,
  { registry, defaultModelName }: CaseSession,
  options: CaseRunOptions,
): Promise<readonly CaseResult[]> {
  const document: unknown = JSON.parse(text);
  const results: CaseResult[] = [];
  for (const graphCase of cases) {
    const start = performance.now();
    const runs: CaseRun[] = [];
    for (let run = 1; run <= options.runs; run++) {
      const graph = options.isSeeded ? (seededGraph(document, registry, run) as object) : text;
      runs.push(await runOnce(graphCase, { graph, defaultModelName }, options));
    }
    const passed = runs.filter(({ ok }) => ok).length;
    const ok = passed / runs.length >= options.minPass - shareTolerance;
    const result = { name: graphCase.name, runs, passed, ok, durationMs: performance.now() - start };
    results.push(result);
    options.onCase?.(result);
  }
  return results;
}

async function runOnce(
  { name, turns }: GraphCase,
  agentOptions: { readonly graph: object | string; readonly defaultModelName: string },
  { client, enableDiagnostics = false, signal, onTurn, notesOfTurn, onWarnings }: CaseRunOptions,
): Promise<CaseRun> {
  signal.throwIfAborted();
  const checked: CheckedTurn[] = [];
  await using agent = await client.createAgent({ ...agentOptions, enableDiagnostics, signal });
  onWarnings?.(agent.warnings);
  for (const [index, turn] of turns.entries()) {
    onTurn?.(name, index + 1);
    const traced = await runCaseTurn(client, agent, turn, signal);
    const notes = [...traced.notes, ...(notesOfTurn?.() ?? [])];
    checked.push({ ...traced, notes, mismatches: findMismatches(turn.expect, traced.trace) });
    // The dialog would go on in another way than the case means.
    if (traced.trace.error !== undefined) break;
  }
  return { turns: checked, ok: checked.every(({ mismatches }) => mismatches.length === 0) };
}
