import type { GgmlType, LlamaContextOptions } from 'node-llama-cpp';
import { Fault, describeError } from '../../../protocol/fault.ts';
import type { KvCacheType } from '../../contract/engine.ts';

/** Options of node-llama-cpp that set a KV cache type, for its memory estimate and its context; empty for its default. */
export interface CacheTypeOptions {
  readonly estimate: { readonly kvCacheKeyType?: GgmlType; readonly kvCacheValueType?: GgmlType };
  readonly context: Pick<LlamaContextOptions, 'experimentalKvCacheKeyType' | 'experimentalKvCacheValueType'>;
}

// The values of node-llama-cpp's enum GgmlType: importing the enum would load the library.
const ggmlTypes: Readonly<Record<Exclude<KvCacheType, 'f16'>, GgmlType>> = { q8_0: 8, q4_0: 2 };

/** The library options for a KV cache type (llama.cpp: --cache-type-k and --cache-type-v, the same for both). */
export function cacheTypeOptions(type: KvCacheType): CacheTypeOptions {
  if (type === 'f16') return { estimate: {}, context: {} };
  const ggmlType = ggmlTypes[type];
  return {
    estimate: { kvCacheKeyType: ggmlType, kvCacheValueType: ggmlType },
    context: { experimentalKvCacheKeyType: ggmlType, experimentalKvCacheValueType: ggmlType },
  };
}

/** Warnings about a KV cache type for the user; none for the default. */
export const cacheTypeWarnings = (type: KvCacheType): readonly string[] =>
  type === 'f16'
    ? []
    : [
        `its kv_cache_type ${type} is experimental: answers can be worse, and with some models it does not work; f16 does`,
      ];

/** Converts the error of a context's creation to a Fault that names the cache type, if that is a possible cause. */
export function cacheTypeFault(type: KvCacheType, error: unknown): unknown {
  if (type === 'f16') return error;
  const why = describeError(error);
  return new Fault(
    'MODEL_LOAD_FAILED',
    `no context could be made with its kv_cache_type ${type}, which is experimental (${why}): take f16`,
    { cause: error },
  );
}
