import { Fault } from '../../protocol/fault.ts';

// About what V8 takes for a short string, a small object or a member of one.
const bytesPerValue = 128;

/** The bytes that a value counts: those of its texts as UTF-8, and 128 for each value in it. */
export function sizeOf(value: unknown): number {
  if (typeof value === 'string') return bytesPerValue + Buffer.byteLength(value);
  let bytes = bytesPerValue;
  for (const [name, member] of Object.entries(Object(value))) bytes += name.length + sizeOf(member);
  return bytes;
}

const sessionBytes = 64 * 1024 * 1024;

/** The things that someone keeps, such as a node. */
export type Keeper = Set<object>;

/** Counts what a session keeps of its client. What is shared counts once, until its last keeper drops it. */
export class SessionMemory {
  readonly #items = new Map<object, { readonly isKnowledge: boolean; bytes: number; readonly keepers: Set<Keeper> }>();
  readonly #knowledge;
  readonly #others = { bytes: 0, allowed: sessionBytes, kept: 'dialogs, graphs, patterns and storages' };

  /** @param knowledgeBytes what KNOWLEDGE storages may have. */
  constructor(knowledgeBytes: number) {
    this.#knowledge = { bytes: 0, allowed: knowledgeBytes, kept: 'KNOWLEDGE storages' };
  }

  /**
   * A thing of a keeper grows, or is new.
   * @param what its name in the error; absent: it is counted, whatever is allowed.
   * @throws Fault LIMIT_EXCEEDED; then nothing has changed.
   */
  grow(thing: object, by: number, keeper: Keeper, what?: string, isKnowledge = false): void {
    const sum = isKnowledge ? this.#knowledge : this.#others;
    const bytes = sum.bytes + by;
    if (what !== undefined && bytes > sum.allowed) {
      const message = `with ${what} the ${sum.kept} of this session have ${bytes} bytes, and ${sum.allowed} are allowed`;
      throw new Fault('LIMIT_EXCEEDED', `${message}; clear a dialog, or destroy an agent or a storage`);
    }
    sum.bytes = bytes;
    const item = this.#items.get(thing) ?? { isKnowledge, bytes: 0, keepers: new Set() };
    item.bytes += by;
    this.#items.set(thing, item);
    this.share(thing, keeper);
  }

  /** Someone keeps a thing, too. @returns whether it is counted here. */
  share(thing: object, keeper: Keeper): boolean {
    const item = this.#items.get(thing);
    if (item?.keepers.add(keeper)) keeper.add(thing);
    return item !== undefined;
  }

  /** Someone does not keep things any more; default: nothing at all. */
  drop(keeper: Keeper, things: Iterable<object> = [...keeper]): void {
    for (const thing of things) {
      const item = this.#items.get(thing);
      keeper.delete(thing);
      if (!item?.keepers.delete(keeper) || item.keepers.size > 0) continue;
      (item.isKnowledge ? this.#knowledge : this.#others).bytes -= item.bytes;
      this.#items.delete(thing);
    }
  }
}
