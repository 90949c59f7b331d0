import { isWithin, subtractMemory, type MemoryUse } from '../contract/memory.ts';

/** How many slots a context has, and how many tokens each of them. */
export interface ContextSettings {
  readonly slots: number;
  readonly contextSize: number;
}

/** A context, and what it takes. */
export interface FittedContext extends ContextSettings {
  readonly context: MemoryUse;
  /** What each slot has of it. */
  readonly slot: MemoryUse;
}

/** Estimates the memory of a context. */
export type EstimateContext = (settings: ContextSettings) => Promise<MemoryUse>;

/** A context is not made shorter than this, in tokens, unless it is asked to be. */
const minContextSize = 2048;
const contextStep = 256;

/**
 * Fits a context in an amount of memory: first with fewer slots, down to one, because their states can be swapped out; then
 * with a shorter context. Returns the smallest one when that does not fit either.
 */
export async function fitContext(
  estimate: EstimateContext,
  wanted: ContextSettings,
  within: MemoryUse,
): Promise<FittedContext> {
  const fits = async (settings: ContextSettings): Promise<boolean> => isWithin(await estimate(settings), within);
  const settings = (await fits(wanted)) ? wanted : await reduce(fits, wanted);
  const context = await estimate(settings);
  const oneMore = await estimate({ ...settings, slots: settings.slots + 1 });
  return { ...settings, context, slot: subtractMemory(oneMore, context) };
}

async function reduce(
  fits: (settings: ContextSettings) => Promise<boolean>,
  { slots, contextSize }: ContextSettings,
): Promise<ContextSettings> {
  const fewer = await largest(1, slots - 1, (count) => fits({ slots: count, contextSize }));
  if (fewer !== undefined) return { slots: fewer, contextSize };
  const shortest = Math.min(minContextSize, contextSize);
  const steps = Math.floor((contextSize - shortest) / contextStep);
  const sizeOf = (step: number): number => shortest + step * contextStep;
  const step = await largest(0, steps, (count) => fits({ slots: 1, contextSize: sizeOf(count) }));
  return { slots: 1, contextSize: sizeOf(step ?? 0) };
}

/** The largest whole number that passes a test which all smaller ones pass; undefined: none does. */
async function largest(
  from: number,
  to: number,
  passes: (value: number) => Promise<boolean>,
): Promise<number | undefined> {
  let [low, high] = [from, to];
  while (low <= high) {
    const middle = Math.ceil((low + high) / 2);
    if (await passes(middle)) low = middle + 1;
    else high = middle - 1;
  }
  return high < from ? undefined : high;
}
