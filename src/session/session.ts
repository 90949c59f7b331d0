import { setMaxListeners } from 'node:events';
import { Agent, type AgentOptions } from '../agent/agent.ts';
import type { Limits } from '../config.ts';
import type { Downloads } from '../download/downloads.ts';
import { Fault } from '../fault.ts';
import type { CreateStringStorageRequest } from '../frames.gen.ts';
import type { GraphFolder } from '../graph/graphFolder.ts';
import type { Registry } from '../graph/registry.ts';
import type { Log } from '../log.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { ModelPool } from '../models/pool/pool.ts';
import { StorageRoot } from '../storage/storageRoot.ts';
import { SessionStorages } from '../storage/sessionStorages.ts';
import type { StringStorage } from '../storage/stringStorage.ts';

/** Names of the engines that a session can choose. */
export const engineNames = ['llama-cpp', 'mock'] as const;

/** One of the engines. */
export type EngineName = (typeof engineNames)[number];

/** What all sessions of a server share. */
export interface ServerContext {
  readonly registry: Registry;
  readonly pools: Readonly<Record<EngineName, ModelPool>>;
  readonly graphs: GraphFolder;
  /** Folder that storage files are read from. */
  readonly storageRoot: string;
  readonly limits: Limits;
  /** Milliseconds that one turn may take. */
  readonly turnTimeoutMs: number;
  /** Aborted with SERVER_SHUTTING_DOWN when the server shuts down: no turn, no agent and no load begins any more. */
  readonly closing: AbortSignal;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly downloads: Downloads;
}

/** How a client wants its session. */
export interface SessionSettings {
  readonly engine: EngineName;
  /** Folder of its storages, within the server's. */
  readonly storageDataFolder: string;
  /** Whether a model that an agent needs is downloaded first. */
  readonly autoDownloads: boolean;
}

/** What a client says of an agent that it wants. */
export type NewAgent = Pick<
  AgentOptions,
  'graph' | 'defaultModelName' | 'diagnostics' | 'maxSteps' | 'history' | 'loading'
>;

/** What one client owns: its settings and its agents. It knows no socket. */
export class Session implements AsyncDisposable {
  readonly id: string;
  readonly context: ServerContext;
  /** Undefined while the client keeps up with what is sent, else what to wait for. */
  readonly backpressure: () => Promise<void> | undefined;
  /** Who waits for downloads here: the session itself, and its agents that are being made. */
  readonly downloadOwners = new Set<object>([this]);
  readonly #agents = new Map<number, Agent>();
  readonly #creations = new Map<number, Promise<unknown>>();
  readonly #end = new AbortController();
  #engine: EngineName = 'llama-cpp';
  #autoDownloads = false;
  #storages: SessionStorages;
  #used = false;
  #lastAgentId = 0;

  constructor(id: string, context: ServerContext, backpressure: () => Promise<void> | undefined) {
    this.id = id;
    this.context = context;
    this.backpressure = backpressure;
    this.#storages = this.#createStorages('');
    // Each agent that waits for its model listens, and Node takes more than ten for a leak.
    setMaxListeners(0, this.#end.signal);
    context.metrics.add('turngraph_sessions', {});
  }

  /** @throws Fault SERVER_SHUTTING_DOWN when nothing new may begin. */
  assertOpen(): void {
    this.context.closing.throwIfAborted();
  }

  /** The session's string storages. */
  get storages(): SessionStorages {
    return this.#storages;
  }

  /** Makes a string storage. */
  async createStorage(request: CreateStringStorageRequest): Promise<StringStorage> {
    const storage = await this.#storages.create(request);
    this.#used = true;
    return storage;
  }

  /** Whether a model that an agent needs is downloaded first. */
  get autoDownloads(): boolean {
    return this.#autoDownloads;
  }

  /** Aborted when the session ends. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  get pool(): ModelPool {
    return this.context.pools[this.#engine];
  }

  /**
   * Chooses the engine and the storage folder; only before the first agent and the first storage.
   * @throws Fault STORAGE_OUTSIDE_ROOT for a folder that leads out.
   */
  configure({ engine, storageDataFolder, autoDownloads }: SessionSettings): void {
    if (this.#used || this.#creations.size > 0) {
      throw new Fault(
        'MALFORMED_MESSAGE',
        'configureSession comes too late: the session has an agent or a storage; configure first',
      );
    }
    this.#storages = this.#createStorages(storageDataFolder);
    this.#engine = engine;
    this.#autoDownloads = autoDownloads;
  }

  /** Makes an agent under the next id, and says so before anybody can speak to it. */
  async createAgent(options: NewAgent, onMade: (agent: Agent) => void): Promise<Agent> {
    this.#end.signal.throwIfAborted();
    const { agents: limit } = this.context.limits;
    if (this.#agents.size + this.#creations.size >= limit) {
      throw new Fault('LIMIT_EXCEEDED', `the session has ${limit} agents, and more are not allowed; destroy one first`);
    }
    const id = ++this.#lastAgentId;
    const making = this.#make(id, options, onMade);
    this.#creations.set(id, making);
    try {
      return await making;
    } catch (error) {
      if (this.#lastAgentId === id) this.#lastAgentId--;
      throw error;
    } finally {
      this.#creations.delete(id);
    }
  }

  /** Settles when an agent that is being made has been made, or could not be; undefined: it is not being made. */
  creation(id: number): Promise<unknown> | undefined {
    return this.#creations.get(id)?.catch(() => undefined);
  }

  async #make(id: number, options: NewAgent, onMade: (agent: Agent) => void): Promise<Agent> {
    const { registry, limits, turnTimeoutMs, metrics } = this.context;
    const own = { id, pool: this.pool, storages: this.storages };
    const { signal } = this.#end;
    const agent = await Agent.create({
      ...options,
      ...own,
      registry,
      limits,
      turnTimeoutMs,
      loading: (model) => ({ ...options.loading?.(model), signal }),
    });
    // The session may have ended while a model was loading.
    if (signal.aborted) await agent[Symbol.asyncDispose]();
    signal.throwIfAborted();
    this.#used = true;
    this.#agents.set(id, agent);
    metrics.add('turngraph_agents', {});
    metrics.add('turngraph_agents_created_total', {});
    metrics.add('turngraph_agent_warnings_total', {}, agent.warnings.length);
    onMade(agent);
    return agent;
  }

  /** Evaluates what can be evaluated of an agent; one that cannot be is destroyed. */
  async warmUp(agent: Agent): Promise<void> {
    try {
      await agent.warmUp();
    } catch (error) {
      if (this.#agents.has(agent.id)) await this.destroyAgent(agent.id);
      throw error;
    }
  }

  /** @throws Fault INVALID_AGENT_ID or AGENT_ALREADY_DESTROYED. */
  agent(id: number): Agent {
    const agent = this.#agents.get(id);
    if (agent) return agent;
    if (id >= 1 && id <= this.#lastAgentId)
      throw new Fault('AGENT_ALREADY_DESTROYED', `agent ${id} has been destroyed, or could not be made`);
    throw new Fault('INVALID_AGENT_ID', `there is no agent ${id} in this session; createAgent gives the ids`);
  }

  async destroyAgent(id: number): Promise<void> {
    const agent = this.agent(id);
    this.#agents.delete(id);
    this.context.metrics.add('turngraph_agents', {}, -1);
    await agent[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#end.signal.aborted) return;
    // Who still waits for a model hears why it does not come.
    this.#end.abort(this.context.closing.reason);
    const agents = [...this.#agents.values()];
    this.#agents.clear();
    this.context.metrics.add('turngraph_agents', {}, -agents.length);
    this.context.metrics.add('turngraph_sessions', {}, -1);
    await Promise.all(agents.map((agent) => agent[Symbol.asyncDispose]()));
  }

  #createStorages(folder: string): SessionStorages {
    return new SessionStorages(new StorageRoot(this.context.storageRoot, folder), this.context.limits.patterns);
  }
}
