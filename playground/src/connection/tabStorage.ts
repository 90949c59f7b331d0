/** What the page keeps in the browser's tab (sessionStorage). Where that is turned off or full, it is kept until the page is left. */
const inMemory = new Map<string, string>();

/** The text that was kept under a key; undefined: none. */
export function readTab(key: string): string | undefined {
  try {
    return inMemory.get(key) ?? sessionStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Keeps a text under a key. */
export function writeTab(key: string, text: string): void {
  inMemory.delete(key);
  try {
    sessionStorage.setItem(key, text);
  } catch {
    inMemory.set(key, text);
    dropOld(key);
  }
}

// A text of before is not to come back when the page is loaded again.
function dropOld(key: string): void {
  try {
    sessionStorage.removeItem(key);
  } catch {
    // It is turned off: there is none.
  }
}
