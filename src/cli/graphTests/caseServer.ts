import type { ServerOptions } from '../../server/config.ts';
import { connect, type Client } from '../../client/index.ts';
import { mockEngine } from '../../inference/mock/engine.ts';
import type { CatalogueEntry } from '../../inference/models/catalogue/catalogue.ts';
import type { TurngraphServer } from '../../server/socket/server.ts';
import type { EngineName } from '../../server/session/session.ts';
import { ActiveScript } from './activeScript.ts';
import { recordInferences, type RecordedInference } from './recordInferences.ts';

/** What the server of cases needs besides its options. */
export interface CaseServerSettings {
  /** Whether models are loaded; else only the mock engine runs. */
  readonly usesModels: boolean;
  /** The file of `--model`. */
  readonly modelFile: CatalogueEntry | undefined;
  /** Gets what the models answer. */
  readonly onInference?: (recorded: RecordedInference) => void;
}

const maxConnectionRate = 100_000;

/** A server in this process that all cases with graphs of one folder share. */
export class CaseServer implements AsyncDisposable {
  readonly script: ActiveScript;
  readonly #server: TurngraphServer;

  private constructor(server: TurngraphServer, script: ActiveScript) {
    this.#server = server;
    this.script = script;
  }

  /** Starts a server. @param storageRoot the folder of the storage files of the graphs. */
  static async start(
    options: ServerOptions,
    storageRoot: string,
    { usesModels, modelFile, onInference }: CaseServerSettings,
  ): Promise<CaseServer> {
    const script = new ActiveScript();
    // A server with a script does not start a process for models.
    const mockScript = usesModels ? '' : 'the recording of each file';
    // Each file has a connection of its own, and many files take less than a second.
    const ownOptions = { ...options, storageRoot, mockScript, maxConnectionRate };
    // Imported on demand: loading the engine takes time.
    const [{ start }, { createLlamaEngine }, { createLog }, { Metrics }] = await Promise.all([
      import('../../server/start.ts'),
      import('../../server/llamaEngine.ts'),
      import('../../base/log.ts'),
      import('../../server/metrics/metrics.ts'),
    ]);
    const log = createLog({ level: options.logLevel, json: false });
    const llamaEngine = await createLlamaEngine(ownOptions, log, new Metrics());
    const engines = {
      mock: mockEngine({ script: script.entries }),
      'llama-cpp': onInference ? recordInferences(llamaEngine, onInference) : llamaEngine,
    };
    const server = await start(ownOptions, { log, engines, extraModels: modelFile ? [modelFile] : [] });
    return new CaseServer(server, script);
  }

  /** A client whose agents run on an engine. Storages are read anew for it. */
  async connect(engine: EngineName): Promise<Client> {
    const client = await connect(this.#server.url);
    await client.configure({ engine });
    return client;
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#server[Symbol.asyncDispose]();
  }
}
