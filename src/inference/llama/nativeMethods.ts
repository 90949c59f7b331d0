import type { LlamaContext } from 'node-llama-cpp';

/**
 * Replaces a method of the native object of a context.
 * @throws Error when this release of node-llama-cpp has no such method.
 */
export function patchNativeMethod<T extends (...values: never[]) => unknown>(
  context: LlamaContext,
  name: string,
  wrap: (original: T) => T,
): void {
  const native: unknown = Reflect.get(context, '_ctx');
  const method: unknown = typeof native === 'object' && native !== null && Reflect.get(native, name);
  if (typeof method !== 'function') throw new Error(`this release of node-llama-cpp is not supported: no ${name}`);
  const bound: unknown = method.bind(native);
  Object.defineProperty(native, name, { value: wrap(bound as T), configurable: true });
}
