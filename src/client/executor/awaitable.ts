/** A value, or a promise of it. */
export type Awaitable<T> = T | PromiseLike<T>;

/** Whether a value is a promise, of whatever library. */
export const isPromiseLike = (value: unknown): value is PromiseLike<unknown> =>
  ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
  typeof (value as { readonly then?: unknown }).then === 'function';

/** Continues with a value: at once, or when its promise has resolved. So a call without a promise runs in one go. */
export function andThen<T, Result>(value: Awaitable<T>, next: (value: T) => Awaitable<Result>): Awaitable<Result> {
  return isPromiseLike(value) ? adopt(value as PromiseLike<T>).then(next) : next(value as T);
}

/** The value of some work, or what `recover` makes of its exception, or of the rejection of its promise. */
export function orElse<T>(work: () => Awaitable<T>, recover: (thrown: unknown) => T): Awaitable<T> {
  try {
    const value = work();
    return isPromiseLike(value) ? adopt(value as PromiseLike<T>).then(undefined, recover) : value;
  } catch (thrown) {
    return recover(thrown);
  }
}

// The `then` of other libraries need not return a promise.
const adopt = <T>(promise: PromiseLike<T>): Promise<T> => Promise.resolve(promise);
