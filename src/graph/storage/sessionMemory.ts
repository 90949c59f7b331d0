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

/** Counts what a session keeps of its client. */
export class SessionMemory {
  // Things that several may use count once, until the last one drops them.
  readonly #shared = new Map<object, { readonly isKnowledge: boolean; readonly bytes: number; users: number }>();
  readonly #others = { bytes: 0, allowed: sessionBytes, kept: 'dialogs, graphs, patterns and storages' };
  readonly #knowledge;

  /** @param knowledgeBytes what KNOWLEDGE storages may have. */
  constructor(knowledgeBytes: number) {
    this.#knowledge = { bytes: 0, allowed: knowledgeBytes, kept: 'KNOWLEDGE storages' };
  }

  /**
   * Counts bytes that are added, or, below 0, not kept any more.
   * @param what of them the error names; absent: they are counted, whatever is allowed.
   * @throws Fault LIMIT_EXCEEDED; then nothing has changed.
   */
  add(bytes: number, what?: string, isKnowledge = false): void {
    const sum = isKnowledge ? this.#knowledge : this.#others;
    const total = sum.bytes + bytes;
    if (what !== undefined && total > sum.allowed) {
      const message = `with ${what} the ${sum.kept} of this session have ${total} bytes, and ${sum.allowed} are allowed`;
      throw new Fault('LIMIT_EXCEEDED', `${message}; clear a dialog, or destroy an agent or a storage`);
    }
    sum.bytes = total;
  }

  /** Counts a user of a thing, and its bytes if there was none. @throws as `add`. */
  share(thing: object, bytes: number, what: string, isKnowledge = false): void {
    const known = this.#shared.get(thing);
    if (!known) this.add(bytes, what, isKnowledge);
    this.#shared.set(thing, { isKnowledge, bytes, ...known, users: (known?.users ?? 0) + 1 });
  }

  /** Counts other bytes of a thing that is used. @throws as `add`. */
  resize(thing: object, bytes: number, what?: string): void {
    const known = this.#shared.get(thing);
    if (!known) return;
    this.add(bytes - known.bytes, bytes > known.bytes ? what : undefined, known.isKnowledge);
    this.#shared.set(thing, { ...known, bytes });
  }

  /** A user of a thing does not need it any more. */
  drop(thing: object): void {
    const known = this.#shared.get(thing);
    if (!known || --known.users > 0) return;
    this.#shared.delete(thing);
    this.add(-known.bytes, undefined, known.isKnowledge);
  }
}
