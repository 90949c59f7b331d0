import { Listeners } from '../../base/events.ts';
import { type Knowledge, type KnowledgeEntry, limitAlways } from './knowledge/knowledge.ts';
import { sizeOf } from './sessionMemory.ts';
import { createKnowledge, type StringStorage } from './stringStorage.ts';

/** A change of a storage: entries in place of those with the same ids, or after all others; and ids of entries that go. */
export interface StorageChange {
  readonly added: readonly KnowledgeEntry[];
  readonly removed: readonly string[];
}

export type WriteChange = (
  change: StorageChange,
  next: { readonly entries: readonly KnowledgeEntry[]; readonly bytes: number },
) => Promise<void>;

export interface StorageSize {
  readonly entries: number;
  readonly bytes: number;
}

/** A KNOWLEDGE storage that grows: changes replace `current`; a state stays as it is for searches under way. */
export class GrowingStorage implements StringStorage {
  readonly kind = 'KNOWLEDGE';
  readonly #changes = new Listeners();
  readonly onChange = this.#changes.add;
  /** Entries of a file: who uses the file has counted them. */
  readonly #ofFile: ReadonlySet<KnowledgeEntry>;
  /** All entries as they were given, `always` before `limitAlways`. */
  entries: readonly KnowledgeEntry[];
  current: StringStorage;
  /** What its entries count in the memory of a session, without those of a file. */
  bytes: number;
  readonly #write: WriteChange | undefined;
  #last: Promise<unknown> = Promise.resolve();

  /**
   * @param initial its first state: of a request, or that of a file, which others may use, too.
   * @param entries its entries as given.
   * @param write keeps each change before it takes effect; absent: the session alone has them.
   */
  constructor(
    initial: StringStorage,
    entries: readonly KnowledgeEntry[] = initial.knowledge?.entries ?? [],
    write?: WriteChange,
  ) {
    this.#write = write;
    this.current = initial;
    this.entries = entries;
    this.#ofFile = new Set(initial.isOfClient ? [] : entries);
    this.bytes = initial.isOfClient ? sumBytes(entries) : 0;
  }

  get list(): readonly string[] {
    return this.current.list;
  }

  get keys(): readonly string[] {
    return this.current.keys;
  }

  get knowledge(): Knowledge {
    return this.current.knowledge ?? noKnowledge;
  }

  get isOfClient(): boolean {
    return this.current.isOfClient ?? false;
  }

  /**
   * Changes the entries, after the changes before it.
   * @param plan the change; it throws if the storage cannot be changed so.
   * @param admit throws when the storage would be too large.
   * @returns sentences about what of it is not used.
   * @throws what these throw; then nothing has changed.
   */
  change(plan: () => StorageChange, admit: (size: StorageSize) => void): Promise<readonly string[]> {
    const changing = this.#last.then(() => this.#change(plan(), admit));
    this.#last = changing.catch(() => undefined);
    return changing;
  }

  /** Resolves when no change is under way. */
  async idle(): Promise<void> {
    await this.#last;
  }

  async #change(change: StorageChange, admit: (size: StorageSize) => void): Promise<readonly string[]> {
    const { added, removed } = change;
    if (added.length === 0 && removed.length === 0) return [];
    const gone = new Set([...removed, ...added.map(({ id }) => id)]);
    const dropped = this.entries.filter(({ id }) => gone.has(id));
    const counted = dropped.filter((entry) => !this.#ofFile.has(entry));
    const entries = [...this.entries.filter(({ id }) => !gone.has(id)), ...added];
    const bytes = this.bytes + sumBytes(added) - sumBytes(counted);
    admit({ entries: entries.length, bytes });
    try {
      await this.#write?.(change, { entries, bytes });
    } catch (error) {
      admit({ entries: this.entries.length, bytes: this.bytes });
      throw error;
    }
    const limited = limitAlways(entries, this.knowledge.alwaysTokens);
    // The last state that a search has made an index of.
    const former = { state: this.current.former?.state ?? this.current };
    this.current = { ...createKnowledge({ ...this.knowledge, ...limited }), isOfClient: true, former };
    this.entries = entries;
    this.bytes = bytes;
    this.#changes.call();
    return added.some(({ always }) => always) ? limited.warnings : [];
  }
}

const noKnowledge: Knowledge = { entries: [], fields: undefined, embeddingModel: undefined, bytes: 0 };

const sumBytes = (entries: readonly KnowledgeEntry[]): number =>
  entries.reduce((sum, { id, text, ...rest }) => sum + sizeOf([id, text, JSON.stringify(rest)]), 0);

/** A storage with entries that a client has sent. */
export const createGrowing = (entries: readonly KnowledgeEntry[], write?: WriteChange): GrowingStorage =>
  new GrowingStorage(
    { ...createKnowledge({ ...noKnowledge, ...limitAlways(entries) }), isOfClient: true },
    entries,
    write,
  );
