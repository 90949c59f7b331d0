import { setMaxListeners } from 'node:events';
import type { ClientFrameBodies, CreateStringStorageRequest, ServerFrameBodies } from '../../protocol/frames.gen.ts';
import { Agent, type AgentOptions } from '../../graph/agent/agent.ts';
import type { Limits } from '../../graph/compile/node.ts';
import type { ModelChooser } from '../modelChooser.ts';
import type { Downloads } from '../../inference/download/downloads.ts';
import { Pace } from '../../inference/contract/pace.ts';
import { Fault, malformed } from '../../protocol/fault.ts';
import { frameControl } from './frameControl.ts';
import type { GraphFolder } from '../../graph/compile/graphFolder.ts';
import type { Registry } from '../../graph/compile/registry.ts';
import type { Log } from '../../base/log.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { ModelPool } from '../../inference/models/pool/pool.ts';
import type { MemoryFolder } from '../../graph/storage/memoryFolder.ts';
import type { MeasuredMachine } from '../../inference/models/suggestions/machine.ts';
import type { TargetMachine } from '../../inference/models/suggestions/suggestModels.ts';
import { StorageRoot } from '../../graph/storage/storageRoot.ts';
import type { VectorPool } from '../../graph/retrieval/vectors/vectorPool.ts';
import { SessionStorages } from '../../graph/storage/sessionStorages.ts';
import type { Formats } from '../../chat/formats/index.ts';
import type { StringStorage } from '../../graph/storage/stringStorage.ts';

/** Names of the engines that a client can choose. */
export const engineNames = ['llama-cpp', 'mock'] as const;

export type EngineName = (typeof engineNames)[number];

/** The machine of a server, with the slots of a model (0 = four). */
export type ServerMachine = MeasuredMachine & Pick<TargetMachine, 'slots'>;

/** Server context: the parts that all sessions of a server share. */
export interface ServerContext {
  readonly registry: Registry;
  /** The tool-call formats that its node types know. */
  readonly formats: Formats;
  readonly pools: Readonly<Record<EngineName, ModelPool>>;
  readonly graphs: GraphFolder;
  readonly vectors: VectorPool;
  /** Root folder of string storage files. */
  readonly storageRoot: string;
  /** Where storages with `persist` are kept; undefined: nowhere. */
  readonly memory: MemoryFolder | undefined;
  readonly limits: Limits;
  /** Max milliseconds of one turn. */
  readonly turnTimeoutMs: number;
  /** Aborted with SERVER_SHUTTING_DOWN when the server shuts down: no new turn, agent or load starts after that. */
  readonly closing: AbortSignal;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly downloads: Downloads;
  readonly chooser: ModelChooser;
  /** Reads what models may use of the machine, and how many slots they have. */
  readonly readMachine: () => Promise<ServerMachine>;
}

/** Settings of a session, from `configureSession`. */
export interface SessionSettings {
  readonly engine: EngineName;
  /** Folder of its string storages, relative to the server's `storageRoot`. */
  readonly storageDataFolder: string;
  /** Whether a missing model of an agent is downloaded. */
  readonly autoDownloads: boolean;
  /** By which its storages are kept, a secret; "" = none is. */
  readonly memoryKey: string;
}

/** Options of a new agent that come from the client. */
export type NewAgent = Pick<
  AgentOptions,
  'graph' | 'clientTools' | 'isPart' | 'defaultModelName' | 'diagnostics' | 'maxSteps' | 'history' | 'loadWaitFor'
>;

/** Logs a failure in an agent. @param what failed. */
export function logFault({ id, context }: Session, agentId: number, fault: Fault, what: string): void {
  const facts = { session: id, agentId, code: fault.code, name: fault.name };
  const { cause } = fault;
  if (fault.name === 'INTERNAL')
    context.log.error({ ...facts, err: cause ?? fault }, `${what} failed with an internal error`);
  else context.log.warn(cause ? { ...facts, err: cause } : facts, `${what} failed`);
  // It may quote a client, which a cause does not: that is an error of an engine or of the system.
  if (!cause) context.log.debug({ ...facts, message: fault.message }, `why ${what} failed`);
}

/** The session of one client: owns its settings, agents and string storages. It knows no socket. */
export class Session implements AsyncDisposable {
  readonly id: string;
  readonly context: ServerContext;
  /** Backpressure: undefined while the client reads fast enough, else a promise to wait for before sending more. */
  readonly backpressure: () => Promise<void> | undefined;
  /** Owners of downloads, for cancelling them: the session itself, and each agent whose creation waits for one. */
  readonly downloadOwners = new Set<object>([this]);
  readonly #agents = new Map<number, Agent>();
  /** By agent id: creations in progress. */
  readonly #creations = new Map<number, Promise<unknown>>();
  /** Its searches without a graph. Those by vectors may wait long for the vectors. */
  readonly searches = { words: new SearchQueue(), vectors: new SearchQueue() };
  readonly pace = new Pace();
  readonly frames = frameControl(this.pace);
  readonly #emit: Reply | undefined;
  readonly #end = new AbortController();
  /** Aborted when the session ends. */
  readonly signal: AbortSignal = this.#end.signal;
  #settings: SessionSettings = { engine: 'llama-cpp', storageDataFolder: '', autoDownloads: false, memoryKey: '' };
  #storages: SessionStorages;
  /** Whether an agent or a storage was created; settings are fixed from then on. */
  #used = false;
  #lastAgentId = 0;

  /** @param emit sends a frame that answers no request. Absent: there are none. */
  constructor(id: string, context: ServerContext, backpressure: () => Promise<void> | undefined, emit?: Reply) {
    this.id = id;
    this.#emit = emit;
    this.context = context;
    this.backpressure = backpressure;
    this.#storages = this.#createStorages(this.#settings);
    // Each agent that waits for its model adds a listener; Node warns of a leak above ten.
    setMaxListeners(0, this.signal);
    context.metrics.add('turngraph_sessions', {});
  }

  /** @throws Fault SERVER_SHUTTING_DOWN when the server shuts down. */
  assertOpen(): void {
    this.context.closing.throwIfAborted();
  }

  get storages(): SessionStorages {
    return this.#storages;
  }

  /** Creates a string storage; the session may end while its file is opened. @throws Fault for an invalid one. */
  async createStorage(request: CreateStringStorageRequest): Promise<StringStorage> {
    const storage = await this.#storages.create(request);
    if (this.signal.aborted) await this.#storages[Symbol.asyncDispose]();
    this.#used = true;
    return storage;
  }

  /** Whether a missing model of an agent is downloaded. */
  get autoDownloads(): boolean {
    return this.#settings.autoDownloads;
  }

  get pool(): ModelPool {
    return this.context.pools[this.#settings.engine];
  }

  /** Only before the first agent and storage. @throws Fault MALFORMED_MESSAGE after these, STORAGE_OUTSIDE_ROOT */
  configure(settings: SessionSettings): void {
    const message = 'configureSession comes too late: the session has an agent or a storage; configure first';
    if (this.#used || this.#creations.size > 0) throw malformed(message);
    this.#storages = this.#createStorages(settings);
    this.#settings = settings;
  }

  /** Creates an agent. @param onCreated is called before requests can reach it. @throws Fault of graph, models. */
  async createAgent(options: NewAgent, onCreated: (agent: Agent) => void): Promise<Agent> {
    this.signal.throwIfAborted();
    const { maxAgents: limit } = this.context.limits;
    if (this.#agents.size + this.#creations.size >= limit)
      throw new Fault('LIMIT_EXCEEDED', `the session has ${limit} agents, and more are not allowed; destroy one first`);
    const id = ++this.#lastAgentId;
    const creation = this.#create(id, options, onCreated);
    this.#creations.set(id, creation);
    try {
      return await creation;
    } catch (error) {
      // An id whose creation failed was never handed out, so the next agent may have it.
      if (this.#lastAgentId === id) this.#lastAgentId--;
      throw error;
    } finally {
      this.#creations.delete(id);
    }
  }

  /** Resolves when the creation of an agent has succeeded or failed; undefined when it is not being created. */
  creation(id: number): Promise<unknown> | undefined {
    return this.#creations.get(id)?.catch(() => undefined);
  }

  async #create(id: number, options: NewAgent, onCreated: (agent: Agent) => void): Promise<Agent> {
    const { registry, limits, turnTimeoutMs, metrics, vectors } = this.context;
    const own = { id, pool: this.pool, storages: this.storages, pace: this.pace, emitLater: this.#emit };
    const { signal } = this;
    const agent = await Agent.create({
      ...options,
      ...own,
      registry,
      vectors,
      limits,
      turnTimeoutMs,
      choose: (...list) => this.context.chooser.choose(this.pool, ...list),
      loadWaitFor: (model) => ({ ...options.loadWaitFor?.(model), signal }),
      onWorkFailed: (fault) => logFault(this, id, fault, 'work after a turn'),
    });
    // The session may have ended while a model was loading.
    if (signal.aborted) await agent[Symbol.asyncDispose]();
    signal.throwIfAborted();
    this.#used = true;
    this.#agents.set(id, agent);
    metrics.add('turngraph_agents', {});
    metrics.add('turngraph_agents_created_total', {});
    metrics.add('turngraph_agent_warnings_total', {}, agent.warnings.length);
    onCreated(agent);
    return agent;
  }

  /** Prefills the prompts of an agent as far as known. @throws what prefilling throws, after destroying the agent. */
  async warmUp(agent: Agent): Promise<void> {
    try {
      await agent.warmUp();
    } catch (error) {
      if (this.#agents.has(agent.id)) await this.destroyAgent(agent.id);
      throw error;
    }
  }

  /** The agent with this id. @throws Fault INVALID_AGENT_ID or AGENT_ALREADY_DESTROYED. */
  agent(id: number): Agent {
    const agent = this.#agents.get(id);
    if (agent) return agent;
    if (id >= 1 && id <= this.#lastAgentId)
      throw new Fault('AGENT_ALREADY_DESTROYED', `agent ${id} has been destroyed, or could not be made`);
    throw new Fault('INVALID_AGENT_ID', `there is no agent ${id} in this session; createAgent gives the ids`);
  }

  /** Cancels the turns of an agent and frees what it holds. @throws Fault INVALID_AGENT_ID, AGENT_ALREADY_DESTROYED */
  async destroyAgent(id: number): Promise<void> {
    const agent = this.agent(id);
    this.#agents.delete(id);
    this.context.metrics.add('turngraph_agents', {}, -1);
    await agent[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.signal.aborted) return;
    // Agents that wait for a model are rejected with this reason.
    this.#end.abort(this.context.closing.reason ?? new Fault('CONNECTION_DROPPED', 'the session has ended'));
    this.frames[Symbol.dispose]();
    const agents = [...this.#agents.values()];
    const { closing } = this.context;
    if (closing.aborted) agents.forEach((agent) => agent.cancel(0, Fault.from(closing.reason)));
    this.#agents.clear();
    this.context.metrics.add('turngraph_agents', {}, -agents.length);
    this.context.metrics.add('turngraph_sessions', {}, -1);
    await Promise.all([...agents, this.#storages].map((part) => part[Symbol.asyncDispose]()));
  }

  #createStorages({ storageDataFolder, memoryKey: key }: SessionSettings): SessionStorages {
    const { storageRoot, memory: folder, limits } = this.context;
    const { maxPatterns, maxKnowledgeEntries: entries, maxKnowledgeBytes: bytes } = limits;
    const root = new StorageRoot(storageRoot, storageDataFolder);
    return new SessionStorages(root, maxPatterns, { entries, bytes }, { folder, key });
  }
}

/** Sends one frame of the answer to a request. */
export type Reply = <K extends keyof ServerFrameBodies>(body: K, frame: ServerFrameBodies[K]) => void;

/** Result of a handler: nothing when the request is done, or work that continues while later requests are handled. */
export type HandlerResult = void | { readonly background: Promise<unknown> };

/** A handler per client message; a message without one does not compile. It replies or throws a Fault. */
export type Handlers = {
  readonly [K in keyof ClientFrameBodies]: (
    session: Session,
    request: ClientFrameBodies[K],
    reply: Reply,
  ) => HandlerResult | Promise<HandlerResult>;
};

/** The handler of a request that is answered with an ack, as soon as it is done. */
export const acknowledged =
  <Request>(act: (session: Session, request: Request) => void | Promise<void>) =>
  (session: Session, request: Request, reply: Reply): void | Promise<void> => {
    const acting = act(session, request);
    return acting ? acting.then(() => reply('ack', {})) : reply('ack', {});
  };

/** Runs the searches of one session one after another: those of other sessions do not wait for all of them. */
export class SearchQueue {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs a search after those before it, once the client reads fast enough. @throws its error; the session's end. */
  run<T>({ backpressure, signal }: Pick<Session, 'backpressure' | 'signal'>, search: () => Promise<T>): Promise<T> {
    const result = this.#last.then(async () => {
      for (let wait = backpressure(); wait && !signal.aborted; wait = backpressure()) await wait;
      signal.throwIfAborted();
      return search();
    });
    this.#last = result.catch(() => undefined);
    return result;
  }
}
