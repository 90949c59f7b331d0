import { Fault } from '../fault.ts';
import type {
  ClientFrameBodies,
  ConfigureSessionRequest,
  CreateAgentRequest,
  ModelInfo,
  ModelProgress,
  SessionReady,
} from '../frames.gen.ts';
import { AgentHandle } from './agent.ts';
import type { ResponseTo, RequestName } from './responses.ts';
import type { CloseInfo, Connection, RequestOptions } from './connection.ts';

/** What an agent is made of: a graph, or the name of one in the server's graphs folder. */
export interface CreateAgentOptions extends Partial<
  Omit<CreateAgentRequest, 'graphJson' | 'graphName' | 'historyJson'>
> {
  /** A graph document: the value itself or its JSON text. */
  readonly graph?: object | string;
  readonly graphName?: string;
  /** A conversation to go on with: what `exportDialog` gave, or a list of `{ user, assistant }`. */
  readonly history?: object | string;
  /** Hears how far a model is that the agent waits for: downloaded, where the session allows that, and loaded. */
  readonly onProgress?: (progress: ModelProgress) => void;
  /** Gives up waiting; the agent may be made nevertheless. */
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

/** How a model is waited for. */
export interface LoadModelOptions {
  readonly onProgress?: (progress: ModelProgress) => void;
  /** Gives up waiting; the server goes on. */
  readonly signal?: AbortSignal;
}

/** How a model is downloaded. */
export interface DownloadModelOptions {
  readonly onProgress?: (progress: ModelProgress) => void;
  /** Gives up the download; what has come is kept by the server, and the next download goes on from there. */
  readonly signal?: AbortSignal;
}

/** A session on a server. */
export class Client implements AsyncDisposable {
  /** How the server introduced the session. */
  readonly session: SessionReady;
  readonly #connection: Connection;

  constructor(connection: Connection, session: SessionReady) {
    this.#connection = connection;
    this.session = session;
  }

  /** Resolves with the close code and reason when the connection has ended, by whichever side. */
  get closed(): Promise<CloseInfo> {
    return this.#connection.closed;
  }

  /** Settings of the session, before its first agent is made. */
  async configure(settings: Partial<ConfigureSessionRequest>): Promise<void> {
    await this.request('configureSession', settings);
  }

  /** Compiles a graph and begins a conversation with it. */
  async createAgent(options: CreateAgentOptions): Promise<AgentHandle> {
    const { graph, graphName, history, onProgress, signal, timeoutMs, ...settings } = options;
    if (graph !== undefined && graphName !== undefined) {
      throw new Fault('MALFORMED_MESSAGE', 'createAgent takes graph or graphName, not both');
    }
    const fields = {
      ...settings,
      ...(graph !== undefined && { graphJson: toJsonText(graph) }),
      ...(graphName !== undefined && { graphName }),
      ...(history !== undefined && { historyJson: toJsonText(history) }),
    };
    const { agentId, warnings } = await this.request('createAgent', fields, {
      signal,
      timeoutMs,
      onFrame: onModelProgress(onProgress),
    });
    return new AgentHandle(this.#connection, agentId, warnings);
  }

  /** All models that the server knows. */
  async listModels(): Promise<readonly ModelInfo[]> {
    const models: ModelInfo[] = [];
    const asked = new Set<string>();
    let pageToken = '';
    do {
      if (asked.has(pageToken))
        throw new Fault('MALFORMED_MESSAGE', `the server gave the page token "${pageToken}" twice`);
      asked.add(pageToken);
      const page = await this.request('listModels', { pageToken });
      models.push(...page.models);
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    return models;
  }

  /** Loads a model, downloading nothing, and keeps it loaded until `unloadModel`. */
  async loadModel(modelName: string, { onProgress, signal }: LoadModelOptions = {}): Promise<void> {
    await this.request('loadModel', { modelName }, { signal, onFrame: onModelProgress(onProgress) });
  }

  /** Lets a model go; it is freed when no agent uses it. */
  async unloadModel(modelName: string): Promise<void> {
    await this.request('unloadModel', { modelName });
  }

  /** Downloads a model to the server's disk, or waits for it when others do so already; gives the bytes of its files. */
  async downloadModel(modelName: string, { onProgress, signal }: DownloadModelOptions = {}): Promise<number> {
    // When this fails, so does the download, and tells why.
    const leave = (): void => void this.cancelDownload(modelName).catch(() => {});
    const hear = (progress: ModelProgress): void => {
      try {
        onProgress?.(progress);
      } catch (thrown) {
        // A listener threw: nobody waits any more.
        leave();
        throw thrown;
      }
    };
    const answer = this.request('downloadModel', { modelName }, { signal, onFrame: onModelProgress(hear) });
    signal?.addEventListener('abort', leave);
    try {
      return (await answer).sizeBytes;
    } finally {
      signal?.removeEventListener('abort', leave);
    }
  }

  /** Leaves the download of a model: what waits for it here rejects with DOWNLOAD_CANCELLED, agents in the making too. */
  async cancelDownload(modelName: string): Promise<void> {
    await this.request('cancelDownload', { modelName });
  }

  /** Deletes what was downloaded of a model; it must not be in use. */
  async deleteModel(modelName: string): Promise<void> {
    await this.request('deleteModel', { modelName });
  }

  /** Sends any request of the protocol and waits for its final answer; fields that are not given take their defaults. */
  request<Name extends RequestName>(
    name: Name,
    fields?: Partial<ClientFrameBodies[Name]>,
    options?: RequestOptions,
  ): Promise<ResponseTo<Name>> {
    return this.#connection.request(name, fields, options);
  }

  /** Closes the connection; what is still waited for rejects with CONNECTION_DROPPED. */
  close(): Promise<void> {
    return this.#connection.close();
  }

  /** As `close`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

const onModelProgress =
  (onProgress: ((progress: ModelProgress) => void) | undefined): RequestOptions['onFrame'] =>
  (frame) =>
    frame.body === 'modelProgress' && onProgress?.(frame.modelProgress);

const toJsonText = (document: object | string): string =>
  typeof document === 'string' ? document : JSON.stringify(document);
