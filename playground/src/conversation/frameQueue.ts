/** A tab in the background has no animation frames. */
const maxDelayMs = 100;

/**
 * Collects what comes faster than the page can be drawn, and gives it all at once before the next animation frame.
 * @param flush gets what was added since its last call, in order.
 */
export function frameQueue<Item>(flush: (items: readonly Item[]) => void): {
  readonly add: (item: Item) => void;
  /** Calls `flush` now, if there is anything. */
  readonly flushNow: () => void;
} {
  let items: Item[] = [];
  let cancelFlush: (() => void) | undefined;
  const flushNow = (): void => {
    cancelFlush?.();
    cancelFlush = undefined;
    const taken = items;
    items = [];
    if (taken.length > 0) flush(taken);
  };
  const schedule = (): (() => void) => {
    const frame = requestAnimationFrame(flushNow);
    const timer = setTimeout(flushNow, maxDelayMs);
    return () => {
      cancelAnimationFrame(frame);
      clearTimeout(timer);
    };
  };
  return {
    add(item) {
      items.push(item);
      cancelFlush ??= schedule();
    },
    flushNow,
  };
}
