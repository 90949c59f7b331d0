// Timeouts, polling and bounded concurrency.

/** The result of a promise; rejects with an error that names `what` after `seconds`. */
export async function withTimeout(seconds, what, promise) {
  let timer;
  const late = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Error(`${what} took longer than ${seconds} s`)), seconds * 1000);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Polls a condition every 20 ms until it is true; returns false after `seconds`. */
export async function pollUntil(seconds, isMet) {
  const end = performance.now() + seconds * 1000;
  for (;;) {
    if (await isMet()) return true;
    if (performance.now() > end) return false;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Runs `work` on items in order, `concurrency` at a time. */
export async function runConcurrently(concurrency, items, work) {
  let next = 0;
  const worker = async () => {
    while (next < items.length) await work(items[next++]);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}
