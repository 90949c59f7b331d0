import type { LlamaContext, LlamaContextOptions, LlamaModel as Weights } from 'node-llama-cpp';

/** Replaces a method until the returned function is called. @throws Error when this release has no such method. */
export function patchMethod<T extends (...values: never[]) => unknown>(
  object: unknown,
  name: string,
  wrap: (original: T) => T,
): () => void {
  const target = Object(object) as object;
  const method: unknown = Reflect.get(target, name);
  if (typeof method !== 'function') throw new Error(`this release of node-llama-cpp is not supported: no ${name}`);
  const bound: unknown = method.bind(target);
  Object.defineProperty(target, name, { value: wrap(bound as T), configurable: true });
  return () => void Reflect.deleteProperty(target, name);
}

/** Replaces a method of the native object of a context. @throws Error as `patchMethod` */
export const patchNativeMethod = <T extends (...values: never[]) => unknown>(
  context: LlamaContext,
  name: string,
  wrap: (original: T) => T,
): (() => void) => patchMethod(Reflect.get(context, '_ctx'), name, wrap);

/**
 * Lets weights be disposed of whatever became of their contexts. The library waits for each of them, and disposes only of those
 * that are in memory still: for one that could not be made, or that was garbage collected, it would wait for ever.
 * @throws Error as `patchMethod`
 */
export function holdContexts(weights: Weights): void {
  const held = new Set<LlamaContext>();
  const guard: unknown = Reflect.get(weights, '_backendModelDisposeGuard');
  const make = async (create: Weights['createContext'], options?: LlamaContextOptions): Promise<LlamaContext> => {
    const handles: Disposable[] = [];
    const restore = patchMethod<(...values: readonly unknown[]) => Disposable>(
      guard,
      'createPreventDisposalHandle',
      (createHandle) =>
        (...values) => {
          const handle = createHandle(...values);
          // Those of running batches have a value.
          if (values.length === 0) handles.push(handle);
          return handle;
        },
    );
    let own: unknown;
    try {
      const context = await create(options);
      own = Reflect.get(context, '_modelPreventDisposalHandle');
      held.add(context);
      context.onDispose.createListener(() => held.delete(context));
      return context;
    } finally {
      restore();
      // The library may have tried several times.
      for (const handle of handles) if (handle !== own) handle[Symbol.dispose]();
    }
  };
  let last: Promise<unknown> = Promise.resolve();
  patchMethod<Weights['createContext']>(weights, 'createContext', (create) => (options) => {
    const made = last.then(() => make(create, options));
    last = made.catch(() => undefined);
    return made;
  });
}

export type NativeMethod = (...values: readonly unknown[]) => Promise<unknown>;

export type NativeSample = readonly [token: number, probabilities?: readonly number[], confidence?: number | undefined];

/** Batch callbacks. They must not throw: they run inside node-llama-cpp's decode loop. */
interface BatchHooks {
  /** A batch is about to be computed. */
  readonly onStart: () => void;
  /** The batch is computed, or has failed. */
  readonly onEnd: () => void;
}

/**
 * Hooks into the batches of a context, and serializes the first sampling after each batch. When logits are first read
 * after a batch, llama.cpp sorts their rows in place and without a lock. node-llama-cpp reads them for all sequences at
 * the same time, each in its own thread, so that one sequence samples from another one's row. Once the rows are sorted,
 * concurrent reads are safe. Measured on node-llama-cpp 3.21.1 with six sequences: 50 of 3,600 answers were wrong
 * without this, and none of 3,600 with it.
 *
 * Samples that ask for both probabilities and confidence are taken twice: see `sampleTwice`.
 * @throws Error when this release of node-llama-cpp has no such methods.
 */
export function hookBatches(context: LlamaContext, { onStart, onEnd }: BatchHooks): void {
  let firstSample: Promise<unknown> | undefined;
  patchNativeMethod<NativeMethod>(context, 'decodeBatch', (decode) => async (...values) => {
    firstSample = undefined;
    onStart();
    try {
      return await decode(...values);
    } finally {
      onEnd();
    }
  });
  patchNativeMethod<NativeMethod>(context, 'sampleToken', (sampleToken) => {
    // An unhandled rejection would crash the process. Returning -1 fails only this sequence; with probabilities the result
    // is a list.
    const sample: NativeMethod = (...values) =>
      sampleToken(...values).catch(() => (typeof values[2] === 'boolean' ? [-1] : -1));
    const sampleInTurn: NativeMethod = (...values) =>
      firstSample ? firstSample.then(() => sample(...values)) : (firstSample = sample(...values));
    return (...values) =>
      values[2] === true && values[3] === true
        ? sampleTwice(sampleInTurn, values).catch(() => [-1])
        : sampleInTurn(...values);
  });
}

/**
 * Samples a token with a sampler for the probabilities, and then without any for the token and the confidence: the most
 * probable token, and its probability among all tokens. So a sampler that keeps few tokens (top_k) gives their probabilities
 * relative to each other, and the confidence makes them absolute. The library itself can only list the probabilities of the
 * whole vocabulary: with 150,000 tokens that blocks the event loop for some 40 ms.
 */
async function sampleTwice(sample: NativeMethod, [index, sampler]: readonly unknown[]): Promise<NativeSample> {
  const [, probabilities] = (await sample(index, sampler, true, false)) as NativeSample;
  (sampler as { applyConfig(config: { readonly temperature: 0 }): void }).applyConfig({ temperature: 0 });
  const [token, , confidence] = (await sample(index, sampler, false, true)) as NativeSample;
  return [token, probabilities ?? [], confidence];
}

/**
 * Makes the start of a sliding-window cache the last position at which a part of the window before it is missing. The
 * library takes the first cached token for it: so it would cut a cache back into its first window, resume with a part of
 * the window, and not use a checkpoint that has all of it.
 * @throws Error when this release of node-llama-cpp has no such method.
 */
export function correctWindowStart(context: LlamaContext): void {
  const windowTokens = context.model.fileInsights.swaSize;
  if (windowTokens === undefined) return;
  patchNativeMethod<(sequenceId: number) => number>(context, 'getSequenceKvCacheMinPosition', (firstCached) => {
    return (sequenceId) => {
      const first = firstCached(sequenceId);
      return first > 0 ? first + windowTokens - 1 : first;
    };
  });
}
