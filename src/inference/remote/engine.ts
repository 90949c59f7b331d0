import { EitherSignal } from '../../base/abort.ts';
import type { Environment } from '../../base/httpRoute.ts';
import { Fault, describeError } from '../../protocol/fault.ts';
import type { Engine, Model } from '../contract/engine.ts';
import { type RemoteModel } from '../contract/model.ts';
import { defaultTimeouts, type RemoteTimeouts } from './connection/httpConnection.ts';

export interface HttpEngineOptions {
  /** Default: `defaultTimeouts`. */
  readonly timeouts?: Partial<RemoteTimeouts>;
  /** Environment variables, with the API keys. */
  readonly environment?: Environment;
  /** The model of loads that name none. */
  readonly remote?: RemoteModel;
}

/** Creates the HTTP engine: runs models on inference servers. It loads nothing itself, and needs no memory for models. */
export function httpEngine(ownOptions: HttpEngineOptions = {}): Engine {
  const { timeouts, environment = process.env } = ownOptions;
  const closing = new AbortController();
  const models = new Set<Model>();
  return {
    name: 'http',
    needsFiles: false,
    async load(_file, options) {
      if (options.purpose === 'embedding')
        throw new Fault('MODEL_LOAD_FAILED', 'the http engine computes no embeddings: use a variant with files');
      const remote = options.remote ?? ownOptions.remote;
      if (!remote) throw new Fault('MODEL_LOAD_FAILED', 'the http engine needs a model with base_url in models.json');
      using abort = new EitherSignal([options.signal, closing.signal]);
      try {
        // Imported on demand: it is a fifth of all modules of a server, and most servers have no remote model.
        const { loadRemoteModel } = await import('./loadRemoteModel.ts');
        abort.signal.throwIfAborted();
        const model = await loadRemoteModel(remote, {
          ...options,
          signal: abort.signal,
          environment,
          timeouts: { ...defaultTimeouts, ...timeouts },
          onClose: (closed) => models.delete(closed),
        });
        models.add(model);
        options.onProgress?.(1);
        return model;
      } catch (error) {
        const urls = remote.baseUrls.join(', ');
        const why = abort.signal.aborted ? 'it was cancelled' : describeError(error);
        throw new Fault('MODEL_LOAD_FAILED', `the model at ${urls} cannot be used: ${why}`, { cause: error });
      }
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      await Promise.all([...models].map((model) => model[Symbol.asyncDispose]()));
    },
  };
}
