import type { GgmlType, LlamaContextOptions } from 'node-llama-cpp';
import { Fault, describeError } from '../../../fault.ts';
import type { KvCacheType } from '../../engine.ts';

/** What the library is told of a cache type, for its estimates and for its context; of its own one nothing. */
export interface CacheTypeOptions {
  readonly estimate: { readonly kvCacheKeyType?: GgmlType; readonly kvCacheValueType?: GgmlType };
  readonly context: Pick<LlamaContextOptions, 'experimentalKvCacheKeyType' | 'experimentalKvCacheValueType'>;
}

// The numbers of the library's enum, which is not loaded before it is needed.
const ggmlTypes: Readonly<Record<Exclude<KvCacheType, 'f16'>, GgmlType>> = { q8_0: 8, q4_0: 2 };

/** The library's settings for a cache type. */
export function cacheTypeOptions(type: KvCacheType): CacheTypeOptions {
  if (type === 'f16') return { estimate: {}, context: {} };
  const number = ggmlTypes[type];
  return {
    estimate: { kvCacheKeyType: number, kvCacheValueType: number },
    context: { experimentalKvCacheKeyType: number, experimentalKvCacheValueType: number },
  };
}

/** What a person should know of a cache type; of the usual one nothing. */
export const cacheTypeWarnings = (type: KvCacheType): readonly string[] =>
  type === 'f16'
    ? []
    : [
        `its kv_cache_type ${type} is experimental: answers can be worse, and with some models it does not work; f16 does`,
      ];

/** The failure of a context, when its cache type may be why. */
export function cacheTypeFault(type: KvCacheType, error: unknown): unknown {
  if (type === 'f16') return error;
  const why = describeError(error);
  return new Fault(
    'MODEL_LOAD_FAILED',
    `no context could be made with its kv_cache_type ${type}, which is experimental (${why}): take f16`,
    { cause: error },
  );
}
