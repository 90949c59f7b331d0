import { unnamedEntry } from '../../inference/models/pool/loadedModel.ts';
import type { ModelPurpose } from '../../inference/contract/model.ts';
import { memoizedByKey } from '../../base/memoized.ts';
import { Fault } from '../../protocol/fault.ts';
import type { ModelNames } from '../compile/modelNames.ts';
import { InvalidOutside, InvalidParams, isResourceFault, paramError, type RetrieverMatching } from '../compile/node.ts';
import { purposeProblem } from '../../inference/models/catalogue/catalogue.ts';
import type { LoadWait } from '../../inference/models/pool/loadWait.ts';
import type { ModelLease } from '../../inference/models/pool/lease.ts';
import type { ChooseModel } from '../../inference/models/suggestions/chooseModel.ts';
import type { ModelPool } from '../../inference/models/pool/pool.ts';
import type { CodeName, ModelChoice } from '../../protocol/frames.gen.ts';
import { createRetriever, type Retriever } from '../retrieval/retriever.ts';
import type { OpenVectors, VectorPool } from '../retrieval/vectors/vectorPool.ts';
import type { StringStorage } from '../storage/stringStorage.ts';

export interface AgentModelsOptions {
  readonly pool: ModelPool;
  /** Model of the nodes that name none; takes precedence over the graph's own default. "" = none. */
  readonly defaultModelName: string;
  /** Absent: of several models the first is taken. */
  readonly choose?: ChooseModel | undefined;
  /** How to wait for a model that is not in memory. */
  readonly loadWaitFor?: ((model: string) => LoadWait) | undefined;
  /** The vectors of storages; absent: only words are matched. */
  readonly vectors?: VectorPool | undefined;
  /** Receives the notes of each model that is loaded. */
  readonly warn: (warning: string) => void;
}

/** The models of one agent: one lease per model, shared by all its nodes. A name of undefined is the default model. */
export class AgentModels implements AsyncDisposable {
  readonly #options: AgentModelsOptions;
  readonly #leases = new Map<string, Promise<ModelLease>>();
  readonly #leased: ModelLease[] = [];
  /** The models that were chosen, one for each list. */
  readonly choices: ModelChoice[] = [];
  readonly #leaseListed = memoizedByKey(JSON.stringify, (names: readonly string[]) => this.#leaseUsable(names));
  readonly #vectors: OpenVectors[] = [];
  readonly #names = new Set<string>();
  #isDefaultUsed = false;

  constructor(options: AgentModelsOptions) {
    this.#options = options;
  }

  /** The models that are in use, also those that are not loaded because nothing is computed. */
  get names(): readonly string[] {
    return [...this.#names];
  }

  /** Checks names of models, and their purpose, without loading one. @returns the names. @throws the error that `lease` would. */
  check(names: ModelNames | undefined, graphDefault: ModelNames, purpose: ModelPurpose = 'chat'): ModelNames {
    const { defaultModelName, pool } = this.#options;
    this.#isDefaultUsed ||= names === undefined;
    const wanted = names ?? (defaultModelName || graphDefault);
    if (wanted === '' && pool.needsName) throw new InvalidParams([{ pointer: '/model_name', message: noModel }]);
    const seen = new Set<string>();
    try {
      for (const name of [wanted].flat()) {
        const problem = seen.has(name)
          ? `"${name}" is in the list twice; leave one out`
          : purposeProblem(wanted === '' ? unnamedEntry : pool.entry(name), purpose, pool.catalogue);
        if (problem !== undefined) throw new Fault('GRAPH_COMPILATION_FAILED', problem);
        seen.add(name);
      }
      if (typeof wanted === 'string') this.#names.add(wanted);
      return wanted;
    } catch (error) {
      throw names === undefined ? this.#defaultModelError(error) : error;
    }
  }

  /** The model that names stand for: the only one, or one of several, which stays the same for the agent. */
  async resolve(names: ModelNames): Promise<string> {
    return typeof names === 'string' ? names : (await this.#leaseListed(names)).name;
  }

  /**
   * Leases a model, at most once: the one that is named, or one of several.
   * @throws Fault GRAPH_COMPILATION_FAILED when the model has another purpose; UNKNOWN_MODEL, MODEL_NOT_ON_DISK or MODEL_LOAD_FAILED; InvalidOutside with that for the default model;
   * InvalidParams when there is no name.
   */
  async lease(
    names: ModelNames | undefined,
    graphDefault: ModelNames,
    purpose: ModelPurpose = 'chat',
  ): Promise<ModelLease> {
    const wanted = this.check(names, graphDefault, purpose);
    try {
      return await (typeof wanted === 'string' ? this.#lease(wanted) : this.#leaseListed(wanted));
    } catch (error) {
      throw names === undefined ? this.#defaultModelError(error) : error;
    }
  }

  /**
   * Opens the search of a node over a storage, and begins to compute what is missing of the vectors that it needs.
   * @param name what messages call the storage.
   * @throws InvalidParams when it cannot match the entries so, the Fault of a model that cannot be loaded.
   */
  async openRetriever(
    storage: StringStorage,
    name: string,
    { match, embeddingModel, beforeLoad }: RetrieverMatching,
  ): Promise<Retriever> {
    if (match === 'words') return createRetriever(storage);
    const model = embeddingModel || (storage.knowledge?.embeddingModel ?? '');
    if (model === '') {
      const message = `is "${match}", and neither the node nor its storage names an embedding_model; name one, or match by something else`;
      throw new InvalidParams([{ pointer: '/match', message }]);
    }
    try {
      this.check(model, '', 'embedding');
      await beforeLoad?.();
      return createRetriever(storage, await this.#openVectors(storage, name, model));
    } catch (error) {
      throw paramError('/embedding_model', error);
    }
  }

  /** The vectors of a storage; undefined where none are computed. */
  async #openVectors(storage: StringStorage, name: string, modelName: string): Promise<OpenVectors | undefined> {
    const { vectors, warn } = this.#options;
    if (!vectors) return undefined;
    const { model, prefixes } = await this.lease(modelName, '', 'embedding');
    const opened = await vectors.open({ storage, name, model, modelName, prefixes });
    this.#vectors.push(opened);
    // Those who search are told what cannot be computed.
    opened.computed.then(
      ({ truncated }) => truncated > 0 && warn(truncatedTexts(name, modelName, truncated)),
      () => undefined,
    );
    return opened;
  }

  /** A turn has finished: earlier crashes of the models do not count any more. */
  turnFinished(): void {
    for (const { model } of this.#leased) model.supervision?.turnFinished();
  }

  /** Calls a listener with the name of a model, as `ModelSupervision.onSlowLoad` does, until the result is called. */
  onSlowLoad(listener: (model: string) => void): () => void {
    const stops = this.#leased.map(({ name, model }) => model.supervision?.onSlowLoad(() => listener(name)));
    return () => stops.forEach((stop) => stop?.());
  }

  /** Warns of a default model of the client that no node uses, because all name their own. */
  warnOfUnusedDefault(): void {
    const { defaultModelName, warn } = this.#options;
    if (defaultModelName === '' || this.#isDefaultUsed || this.#leases.size === 0) return;
    warn(`createAgent.defaultModelName "${defaultModelName}" is not used: every node with a model names its own`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const opened of this.#vectors) opened[Symbol.dispose]();
    for (const lease of await Promise.allSettled(this.#leases.values()))
      if (lease.status === 'fulfilled') await lease.value[Symbol.asyncDispose]();
  }

  async #lease(name: string): Promise<ModelLease> {
    const existing = this.#leases.get(name);
    if (existing) return existing;
    const { pool, loadWaitFor, warn } = this.#options;
    const lease = pool.lease(name, loadWaitFor?.(name));
    this.#leases.set(name, lease);
    const leased = await lease;
    this.#leased.push(leased);
    for (const note of leased.model.notes) warn(`the model "${name}": ${note}`);
    return lease;
  }

  /** Leases the model that is chosen from a list; while one cannot be loaded, the next choice. */
  async #leaseUsable(names: readonly string[]): Promise<ModelLease> {
    const { choose = takeFirst, loadWaitFor } = this.#options;
    const failed = new Map<string, string>();
    for (;;) {
      const choice = await choose(names, failed);
      const { name } = choice;
      try {
        const lease = await this.#lease(name);
        this.choices.push(choice);
        this.#names.add(name);
        return lease;
      } catch (error) {
        const isGivenUp = failed.has(name) || loadWaitFor?.(name).signal?.aborted;
        if (isGivenUp || !(error instanceof Fault) || !codesOfModel.has(error.name)) throw error;
        failed.set(name, error.message);
      }
    }
  }

  /** Names the field with the default model: that of the request, or that of the graph. */
  #defaultModelError(error: unknown): unknown {
    if (!isResourceFault(error)) return error;
    const isOfGraph = this.#options.defaultModelName === '';
    const place = isOfGraph ? 'default_model_name' : 'createAgent.defaultModelName';
    return new InvalidOutside(isOfGraph ? `/${place}` : '', `${place} cannot be used: ${error.message}`, error.name);
  }
}

const takeFirst: ChooseModel = async ([name = '']) => ({ name, reason: 'it is the first' });

// Another model may be loaded nevertheless. MODEL_NOT_ON_DISK is for the client, who may download it.
const codesOfModel: ReadonlySet<CodeName> = new Set(['MODEL_LOAD_FAILED', 'MODEL_AUTO_DOWNLOAD_FAILED']);

const noModel = 'names no model, and neither the graph nor the client has a default; name one of models.json';

const truncatedTexts = (name: string, model: string, texts: number): string =>
  `${texts} of the texts that "${name}" searches are longer than "${model}" reads: only their beginnings are found; divide them, or raise context_size of the model`;
