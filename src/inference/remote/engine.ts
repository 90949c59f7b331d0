import { EitherSignal } from '../../base/abort.ts';
import { Fault, describeError } from '../../protocol/fault.ts';
import type { Engine, LoadOptions, Model } from '../contract/engine.ts';
import { type RemoteModel } from '../contract/model.ts';
import { defaultTimeouts, type RemoteTimeouts } from './connection/httpConnection.ts';

export interface HttpEngineOptions {
  /** Default: `defaultTimeouts`. */
  readonly timeouts?: Partial<RemoteTimeouts>;
  /** Environment variables, with the API keys. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** The model of loads that name none. */
  readonly remote?: RemoteModel;
}

/** Creates the HTTP engine: runs models on inference servers. It loads nothing itself, and needs no memory for models. */
export const httpEngine = (options: HttpEngineOptions = {}): Engine => new HttpEngine(options);

class HttpEngine implements Engine {
  readonly name = 'http';
  readonly needsFiles = false;
  readonly #options: HttpEngineOptions;
  readonly #closing = new AbortController();
  readonly #models = new Set<Model>();

  constructor(options: HttpEngineOptions) {
    this.#options = options;
  }

  async load(_file: string, options: LoadOptions): Promise<Model> {
    if (options.purpose === 'embedding')
      throw new Fault('MODEL_LOAD_FAILED', 'the http engine computes no embeddings: use a variant with files');
    const { timeouts, environment = process.env, remote: ownRemote } = this.#options;
    const remote = options.remote ?? ownRemote;
    if (!remote) throw new Fault('MODEL_LOAD_FAILED', 'the http engine needs a model with base_url in models.json');
    using abort = new EitherSignal([options.signal, this.#closing.signal]);
    try {
      // Imported on demand: it is a fifth of all modules of a server, and most servers have no remote model.
      const { loadRemoteModel } = await import('./loadRemoteModel.ts');
      abort.signal.throwIfAborted();
      const model = await loadRemoteModel(remote, {
        ...options,
        signal: abort.signal,
        environment,
        timeouts: { ...defaultTimeouts, ...timeouts },
        onClose: (closed) => this.#models.delete(closed),
      });
      this.#models.add(model);
      options.onProgress?.(1);
      return model;
    } catch (error) {
      const urls = remote.baseUrls.join(', ');
      const why = abort.signal.aborted ? 'it was cancelled' : describeError(error);
      throw new Fault('MODEL_LOAD_FAILED', `the model at ${urls} cannot be used: ${why}`, { cause: error });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await Promise.all([...this.#models].map((model) => model[Symbol.asyncDispose]()));
  }
}
