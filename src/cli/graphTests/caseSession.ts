import { dirname } from 'node:path';
import type { ServerOptions } from '../../server/config.ts';
import { loadExtension } from '../../server/extensions.ts';
import { Fault } from '../../protocol/fault.ts';
import type { GraphFault } from '../../graph/compile/faults.ts';
import type { Registry } from '../../graph/compile/registry.ts';
import type { CatalogueEntry } from '../../inference/models/catalogue/catalogue.ts';
import { registryWith } from '../../graph/nodes/index.ts';
import type { JsonFile } from '../jsonFile.ts';
import { findModelFile } from '../modelFile.ts';
import { CaseServer } from './caseServer.ts';
import { CasesFileError } from './casesFile.ts';
import type { RecordedInference } from './recordInferences.ts';

/** Options of a session of cases. */
export interface CaseSessionOptions {
  readonly settings: ServerOptions;
  /** `--model`: a name in the catalogue, or a file; "" = the graph's own. */
  readonly model: string;
  /** Whether models are loaded; else only the mock engine runs. */
  readonly usesModels: boolean;
  readonly onInference?: (recorded: RecordedInference) => void;
}

/** What the cases of all files share: servers, by the folder of the storage files, and the extension. */
export class CaseSession implements AsyncDisposable {
  readonly settings: ServerOptions;
  readonly registry: Registry;
  /** The model of the nodes that name none; "" = the graph's own. */
  readonly defaultModelName: string;
  readonly #options: CaseSessionOptions;
  readonly #modelFile: CatalogueEntry | undefined;
  readonly #servers = new Map<string, CaseServer>();

  private constructor(options: CaseSessionOptions, registry: Registry, modelFile: CatalogueEntry | undefined) {
    this.settings = options.settings;
    this.registry = registry;
    this.defaultModelName = modelFile?.name ?? options.model;
    this.#options = options;
    this.#modelFile = modelFile;
  }

  static async open(options: CaseSessionOptions): Promise<CaseSession> {
    const { model, settings } = options;
    const modelFile = model === '' ? undefined : await findModelFile(model, settings);
    return new CaseSession(options, registryWith(await loadExtension(settings.extend)), modelFile);
  }

  /** The server for a graph. As in `check`, the storage files of a graph are in its folder. */
  async serverFor({ path }: JsonFile): Promise<CaseServer> {
    const storageRoot = this.settings.storageRoot || dirname(path);
    const running = this.#servers.get(storageRoot);
    if (running) return running;
    const { usesModels, onInference } = this.#options;
    const settings = { usesModels, modelFile: this.#modelFile, ...(onInference && { onInference }) };
    const server = await CaseServer.start(this.settings, storageRoot, settings);
    this.#servers.set(storageRoot, server);
    return server;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#servers.values()].map((server) => server[Symbol.asyncDispose]()));
  }
}

/** Runs the cases of a file; faults of its graph are told with their place in the graph file. @throws CasesFileError */
export async function locatingFaults<T>(graph: JsonFile, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const faults = error.detail === '' ? [] : (JSON.parse(error.detail) as readonly GraphFault[]);
    const lines = faults.map(({ pointer, message }) => `${graph.positionOf(pointer)}: ${message}`);
    const message =
      lines.length > 0 ? lines.join('\n') : `${graph.path}: ${error.name} (${error.code}): ${error.message}`;
    throw new CasesFileError(message, { cause: error });
  }
}
