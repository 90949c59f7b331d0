import type {
  AddKnowledgeResponse,
  ClientFrameBodies,
  ConfigureSessionRequest,
  CreateAgentRequest,
  ModelInfo,
  ModelProgress,
  ServerFrame,
  SessionReady,
  SetPaceRequest,
  SuggestModelsRequest,
  SuggestModelsResponse,
} from '../protocol/frames.gen.ts';
import { checks, logged, optionsCheck } from './options.ts';
import { readJson, type TurnEvent, type RequestName, type ResponseTo } from './toolCall.ts';
import { malformed } from '../protocol/fault.ts';
import { documentText } from '../protocol/codec/json.ts';
import { checkFrameTimes } from '../protocol/frameTimes.ts';
import { AgentHandle } from './agent.ts';
import type { CloseInfo } from './channel.ts';
import type { Connection } from './connection.ts';
import { type AgentTools, readAgentTools } from './executor/executor.ts';
import { readPages, type RequestOptions } from './limits.ts';
import type { NewEntry, SearchStorageOptions, StorageHit, StorageHits, StoredEntry } from './storages.ts';
import { checkSearchOptions } from './storages.ts';

/** Options of `createAgent`. Give either `graph` or `graphName`. */
export interface CreateAgentOptions extends Partial<
  Omit<CreateAgentRequest, 'graphJson' | 'graphName' | 'historyJson' | 'toolsJson'>
> {
  /** A graph document, as a value or as JSON text. */
  readonly graph?: object | string;
  /** The name of a graph in the server's graphs folder. */
  readonly graphName?: string;
  /** A dialog to continue: the result of `exportDialog`, or a list of `{ user, assistant }`. */
  readonly history?: readonly object[] | string;
  /**
   * The tools that the graph names, of `defineTool`: each name must be in a graph, and each name in the graph must be here.
   * Turns run their calls, unless `send` is given others.
   */
  readonly tools?: AgentTools;
  /** Called with the progress of a model that the agent waits for: its download, if the session allows that, and its load. */
  readonly onProgress?: (progress: ModelProgress) => void;
  /** Called with each event of a node that comes after its turn, such as `remembered`. */
  readonly onEvent?: (event: TurnEvent) => void;
  /** Stops waiting; the server may create the agent nevertheless. */
  readonly signal?: AbortSignal;
  /** Milliseconds until `createAgent` rejects with TIMEOUT; default: see `ClientLimits`. */
  readonly timeoutMs?: number;
}

const checkAgentOptions = optionsCheck<CreateAgentOptions>('createAgent', {
  graph: checks.graph,
  graphName: checks.field,
  defaultModelName: checks.field,
  enableDiagnostics: checks.field,
  maxStepsPerTurn: checks.field,
  history: checks.history,
  warmUp: checks.field,
  tools: checks.tools,
  onProgress: checks.callback,
  onEvent: checks.callback,
  signal: checks.signal,
  timeoutMs: checks.timeoutMs,
});

/** Options of `loadModel`. */
export interface LoadModelOptions {
  /** Called with the progress: of a load a fraction from 0 to 1, of a download also bytes. */
  readonly onProgress?: (progress: ModelProgress) => void;
  /** Stops waiting. The server continues to load the model; a download is cancelled, and the next one resumes. */
  readonly signal?: AbortSignal;
}

/** Options of `downloadModel`. */
export type DownloadModelOptions = LoadModelOptions;

const checkProgressOptions = { onProgress: checks.callback, signal: checks.signal } as const;
const checkLoadOptions = optionsCheck<LoadModelOptions>('loadModel', checkProgressOptions);
const checkDownloadOptions = optionsCheck<DownloadModelOptions>('downloadModel', checkProgressOptions);

const checkPace = optionsCheck<Partial<SetPaceRequest>>('setPace', {
  paused: checks.field,
  maxTokensPerSecond: checks.field,
  maxThreads: checks.field,
});

const checkWish = optionsCheck<Partial<SuggestModelsRequest>>('suggestModels', {
  purpose: checks.field,
  minTokensPerSecond: checks.field,
  maxBytes: checks.field,
  languages: checks.field,
});

const checkRequestOptions = optionsCheck<RequestOptions>('request', {
  signal: checks.signal,
  timeoutMs: checks.timeoutMs,
  onFrame: checks.callback,
});

/**
 * A session on a server.
 * @throws Fault from all methods: an error of the server, MALFORMED_MESSAGE with the path for an argument of the wrong
 * type or a misspelt option, FRAME_TOO_LARGE for a request of more than 1 MiB,
 * CONNECTION_DROPPED when the connection ends for good before the response, LIMIT_EXCEEDED when too many requests wait
 * for a connection.
 */
export class Client implements AsyncDisposable {
  /** Session id, server version and protocol version, as the server sent them. */
  readonly session: SessionReady;
  readonly #connection: Connection;
  readonly #addFrame = frameReports((ms, targetMs) => this.request('reportFrame', { ms, targetMs }));

  constructor(connection: Connection, session: SessionReady) {
    this.#connection = connection;
    this.session = session;
  }

  /**
   * Resolves with the close code and reason when the connection has ended for good, whichever side closed it; not when
   * the client reconnects. Never rejects.
   */
  get closed(): Promise<CloseInfo> {
    return this.#connection.closed;
  }

  /** Sets the engine, the storage folder and automatic downloads; only before the first agent and the first storage. */
  async configure(settings: Partial<ConfigureSessionRequest>): Promise<void> {
    await this.request('configureSession', settings);
  }

  /**
   * Replaces the pace of the session, which all its turns share: pauses them, slows them down, or limits their threads. What
   * is absent is not limited, so `setPace({})` ends all limits. Applies at once, also to turns that are running.
   */
  async setPace(pace: Partial<SetPaceRequest>): Promise<void> {
    checkPace(pace);
    await this.request('setPace', pace);
  }

  /**
   * Tells how long a frame of the game took and may take, in milliseconds: call it after each frame. Once a second the server
   * gets the 95th percentile, and takes less of the machine while that is late. Rejects nothing: a lost report does not matter.
   */
  reportFrame(ms: number, targetMs: number): void {
    this.#addFrame(ms, targetMs);
  }

  /**
   * Creates an agent: the server compiles the graph and loads its models.
   * @throws Fault GRAPH_COMPILATION_FAILED with all faults of the graph in `detail`; MODEL_NOT_ON_DISK,
   * MODEL_LOAD_FAILED and others.
   */
  async createAgent(options: CreateAgentOptions): Promise<AgentHandle> {
    checkAgentOptions(options);
    const { graph, graphName, history, tools = [], onProgress, onEvent, signal, timeoutMs, ...settings } = options;
    if (graph !== undefined && graphName !== undefined) {
      throw malformed('createAgent takes graph or graphName, not both');
    }
    const { declarations, executor } = readAgentTools(tools);
    if (history === '') throw malformed('createAgent.history is empty: leave it out, or give "[]"');
    const fields = {
      ...settings,
      ...(graph !== undefined && { graphJson: toJsonText(graph, 'createAgent.graph') }),
      ...(graphName !== undefined && { graphName }),
      ...(history !== undefined && { historyJson: toJsonText(history, 'createAgent.history') }),
      ...(declarations.length > 0 && { toolsJson: documentText(declarations, 'createAgent.tools') }),
    };
    const onFrame = onModelProgress(onProgress);
    const { sessionId, serverVersion, protocolVersion } = this.session;
    const session = { sessionId, serverVersion, protocolVersion };
    const created = await this.#connection.request('createAgent', fields, { signal, timeoutMs, onFrame });
    if (onEvent) this.#connection.onLateEvent(created.agentId, logged('onEvent', onEvent));
    return new AgentHandle(this.#connection, created, { session, executor });
  }

  /** All models of the server's catalogue, with their status. */
  async listModels(): Promise<readonly ModelInfo[]> {
    return readPages("the server's list of models", async (pageToken) => {
      const { models, nextPageToken } = await this.#connection.request('listModels', { pageToken });
      return { items: models, next: nextPageToken };
    });
  }

  /**
   * The models of the server's catalogue that fit its machine, best first, and why the others do not. The first request measures
   * the machine, for a fraction of a second.
   * @param wish what they must have; absent = nothing.
   */
  async suggestModels(wish: Partial<SuggestModelsRequest> = {}): Promise<SuggestModelsResponse> {
    checkWish(wish);
    return this.#connection.request('suggestModels', wish);
  }

  /**
   * Loads a model from the server's disk and keeps it in memory (pinned) until `unloadModel`.
   * @throws Fault MODEL_NOT_ON_DISK, MODEL_LOAD_FAILED
   */
  async loadModel(modelName: string, options: LoadModelOptions = {}): Promise<void> {
    checks.string(modelName, 'loadModel.modelName');
    checkLoadOptions(options);
    const { onProgress, signal } = options;
    await this.#connection.request('loadModel', { modelName }, { signal, onFrame: onModelProgress(onProgress) });
  }

  /** Unpins a model; it is freed when no agent uses it. */
  async unloadModel(modelName: string): Promise<void> {
    checks.string(modelName, 'unloadModel.modelName');
    await this.#connection.request('unloadModel', { modelName });
  }

  /**
   * Downloads a model to the server's disk, or joins a download in progress.
   * @returns the size of its files in bytes.
   * @throws Fault DOWNLOAD_CANCELLED, INSUFFICIENT_DISK_SPACE and others.
   */
  async downloadModel(modelName: string, options: DownloadModelOptions = {}): Promise<number> {
    checks.string(modelName, 'downloadModel.modelName');
    checkDownloadOptions(options);
    const { onProgress, signal } = options;
    // An error of the cancel is ignored: the download then fails with the same one.
    const cancel = (): void => void this.cancelDownload(modelName).catch(() => {});
    const request = { signal, onFrame: onModelProgress(onProgress), onGiveUp: cancel };
    return (await this.#connection.request('downloadModel', { modelName }, request)).sizeBytes;
  }

  /** Cancels the download of a model for this session: what waits for it, `createAgent` too, rejects with DOWNLOAD_CANCELLED. */
  async cancelDownload(modelName: string): Promise<void> {
    checks.string(modelName, 'cancelDownload.modelName');
    await this.#connection.request('cancelDownload', { modelName });
  }

  /** Deletes the downloaded files of a model. @throws Fault MODEL_IN_USE */
  async deleteModel(modelName: string): Promise<void> {
    checks.string(modelName, 'deleteModel.modelName');
    await this.#connection.request('deleteModel', { modelName });
  }

  /**
   * Searches the entries of a string storage, without a graph.
   * @throws Fault STORAGE_FILE_NOT_FOUND; INVALID_PARAM_VALUE with the path of a wrong filter, and for vectors without an
   * embedding model.
   */
  async searchStorage(options: SearchStorageOptions): Promise<StorageHits> {
    checkSearchOptions(options);
    const { filter, signal, timeoutMs, ...request } = options;
    const fields = { ...request, filterJson: filter === undefined ? '' : documentText(filter, 'searchStorage.filter') };
    const parts: string[] = [];
    const onFrame = (frame: ServerFrame): unknown =>
      frame.body === 'searchStorage' && parts.push(frame.searchStorage.hitsJson);
    const { found } = await this.#connection.request('searchStorage', fields, { signal, timeoutMs, onFrame });
    return { hits: readJson(parts.join(''), 'hitsJson') as readonly StorageHit[], found };
  }

  /**
   * Adds entries to a KNOWLEDGE storage of the session, after the others; one whose id another one has takes its place.
   * @returns the ids, in order, and what of the entries is not used.
   * @throws Fault INVALID_STRING_STORAGE_NAME, STORAGE_KIND_MISMATCH; INVALID_STRING_STORAGE_DATA that names the entry;
   * LIMIT_EXCEEDED. Then nothing has changed.
   */
  async addKnowledge(storage: string, entries: readonly NewEntry[]): Promise<AddKnowledgeResponse> {
    checks.string(storage, 'addKnowledge.storage');
    checks.list(entries, 'addKnowledge.entries');
    // The frame turns metadata into their text.
    return this.#connection.request('addKnowledge', { storage, entries: entries as never });
  }

  /** Removes entries of a KNOWLEDGE storage. @throws Fault as `addKnowledge`, also for an id that no entry has. */
  async removeKnowledge(storage: string, ids: readonly string[]): Promise<void> {
    checks.list(ids, 'removeKnowledge.ids');
    await this.#connection.request('removeKnowledge', { storage, ids });
  }

  /** The entries of a KNOWLEDGE storage, as `addKnowledge` takes them. @throws Fault STORAGE_FILE_NOT_FOUND, STORAGE_KIND_MISMATCH */
  async exportStorage(storage: string): Promise<readonly StoredEntry[]> {
    checks.string(storage, 'exportStorage.storage');
    const stored: StoredEntry[] = [];
    const onFrame = (frame: ServerFrame): void => {
      for (const { metadataJson, ...entry } of frame.body === 'exportStorage' ? frame.exportStorage.entries : []) {
        const metadata = readJson(metadataJson || '{}', 'metadataJson') as StoredEntry['metadata'];
        stored.push({ ...entry, metadata });
      }
    };
    await this.#connection.request('exportStorage', { storage }, { onFrame });
    return stored;
  }

  /** Sends any request of the protocol and waits for its final response. Missing fields take their defaults. */
  async request<Name extends RequestName>(
    name: Name,
    fields?: Partial<ClientFrameBodies[Name]>,
    options: RequestOptions = {},
  ): Promise<ResponseTo<Name>> {
    checkRequestOptions(options);
    return this.#connection.request(name, fields, options);
  }

  /**
   * Destroys the agents of the session without waiting, and closes the connection. Pending requests reject with
   * CONNECTION_DROPPED. While the client reconnects, this ends it at once.
   */
  close(): Promise<void> {
    return this.#connection.close();
  }

  /** Same as `close`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

const onModelProgress =
  (onProgress: ((progress: ModelProgress) => void) | undefined): RequestOptions['onFrame'] =>
  (frame) =>
    frame.body === 'modelProgress' && onProgress?.(frame.modelProgress);

const toJsonText = (document: object | string, path: string): string =>
  typeof document === 'string' ? document : documentText(document, path);

const reportIntervalMs = 1000;
/** The worst frame of a second says little, and the mean hides a few late ones. */
const reportedPercentile = 0.95;

/**
 * Reports the frame times of a game once a second, with the 95th percentile of those since the last report.
 * @returns adds a frame; it throws a Fault MALFORMED_MESSAGE.
 */
export function frameReports(send: (ms: number, targetMs: number) => Promise<unknown>) {
  let frames: number[] = [];
  /** When the first of them ended. */
  let since = 0;
  let isSending = false;
  return (ms: number, targetMs: number, now = performance.now()): void => {
    checkFrameTimes(ms, targetMs);
    if (frames.push(ms) === 1) since = now;
    if (now - since < reportIntervalMs) return;
    const sorted = frames.toSorted((a, b) => a - b);
    frames = [];
    // While there is no connection, none waits for it: it would be old.
    if (isSending) return;
    isSending = true;
    const onEnd = (): void => void (isSending = false);
    send(sorted[Math.floor((sorted.length - 1) * reportedPercentile)] ?? ms, targetMs).then(onEnd, onEnd);
  };
}
