/**
 * The change of a number, which is the same each time.
 * @type {(count: number, ids: ReadonlySet<string>) => { added: { id: string, text: string, metadata: {}, keys: string[], always: boolean }[], removed: string[] }}
 */
export function changeOf(count, ids) {
  const text = `${count} ${'x'.repeat((count * 7919) % 3000)}`;
  const old = `${(count + 3) % 7}`;
  return {
    added: [{ id: `${count % 7}`, text, metadata: {}, keys: [], always: false }],
    removed: count % 5 === 0 && ids.has(old) ? [old] : [],
  };
}
