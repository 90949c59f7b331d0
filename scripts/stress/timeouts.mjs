// Waiting that has an end, so that what hangs is told of instead of hanging the trial.

/** The outcome of a promise, or an error that says what did not come in time. */
export async function within(seconds, what, promise) {
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

/** Asks until the answer is yes; gives whether it was within the time. */
export async function eventually(seconds, isSo) {
  const end = performance.now() + seconds * 1000;
  for (;;) {
    if (await isSo()) return true;
    if (performance.now() > end) return false;
    await new Promise((go) => setTimeout(go, 20));
  }
}

/** Works on items, so many at a time, in their order. */
export async function inParallel(lanes, items, work) {
  let next = 0;
  const lane = async () => {
    while (next < items.length) await work(items[next++]);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
