import { addMemory, isWithin, noMemory, subtractMemory, type MemoryUse } from '../../contract/memory.ts';

const bytesPerMegabyte = 1_000_000;

/** A model that can be unloaded. */
export interface IdleModel {
  /** When it was used last, by `performance.now()`. */
  readonly lastUse: number;
  /** Unloads it; rejects when it could not be disposed of. */
  readonly unload: () => Promise<void>;
}

/** Memory that a model has, or is promised. */
export interface MemoryHold {
  readonly use: MemoryUse;
  /**
   * The load is complete: from now on it has what it really takes.
   * @param shrink gives back what `resize` has added.
   */
  settle(use: MemoryUse, shrink?: () => Promise<void>): void;
  /** The model is to take more or less from now on. @returns false when so much is not left. */
  resize(use: MemoryUse): boolean;
  /** The model is being unloaded: its memory is going to be free. */
  expire(): void;
  /** The memory is free. */
  release(): void;
}

class Hold implements MemoryHold {
  use: MemoryUse;
  /** A load or an unload is under way. */
  #isPending = true;
  #isShrinking = false;
  #hasGrown = false;
  #shrink: (() => Promise<void>) | undefined;
  readonly #budget: Pick<MemoryBudget, 'left'>;
  readonly #onChange: (hold: Hold, isReleased: boolean) => void;

  constructor(use: MemoryUse, budget: Pick<MemoryBudget, 'left'>, onChange: (hold: Hold, isReleased: boolean) => void) {
    this.use = use;
    this.#budget = budget;
    this.#onChange = onChange;
  }

  /** Whether its memory is going to change. */
  get isChanging(): boolean {
    return this.#isPending || this.#isShrinking;
  }

  settle(use: MemoryUse, shrink?: () => Promise<void>): void {
    this.use = use;
    this.#shrink = shrink;
    this.#isPending = false;
    this.#onChange(this, false);
  }

  resize(use: MemoryUse): boolean {
    const more = subtractMemory(use, this.use);
    const { left } = this.#budget;
    if ((more.ram > 0 && more.ram > left.ram) || (more.vram > 0 && more.vram > left.vram)) return false;
    this.use = use;
    if (more.ram > 0 || more.vram > 0) this.#hasGrown = true;
    this.#onChange(this, false);
    return true;
  }

  /** Gives back what it has taken since its load, once; undefined: that is nothing. */
  giveBack(): Promise<void> | undefined {
    if (!this.#hasGrown || !this.#shrink) return undefined;
    this.#hasGrown = false;
    this.#isShrinking = true;
    const end = (): void => {
      this.#isShrinking = false;
      this.#onChange(this, false);
    };
    return this.#shrink().then(end, end);
  }

  expire(): void {
    this.#isPending = true;
  }

  release(): void {
    this.#onChange(this, true);
  }
}

/**
 * Memory budget: what all models of all pools may take together. It is reserved before a load, in one step without an await,
 * so that two loads are never promised the same memory; after the load the reservation is what the model really takes.
 */
export class MemoryBudget {
  /** Bytes; Infinity: no limit. */
  readonly limit: MemoryUse;
  readonly #holds = new Set<Hold>();
  readonly #idleModels = new Set<() => readonly IdleModel[]>();
  #waiting: (() => void)[] = [];

  /** @param limits in megabytes; 0 = no limit. */
  constructor({ memoryLimit = 0, vramLimit = 0 }: { readonly memoryLimit?: number; readonly vramLimit?: number } = {}) {
    this.limit = { ram: bytesOf(memoryLimit), vram: bytesOf(vramLimit) };
  }

  get isLimited(): boolean {
    return Number.isFinite(this.limit.ram) || Number.isFinite(this.limit.vram);
  }

  /** What no model has or is promised. */
  get left(): MemoryUse {
    return subtractMemory(this.limit, this.used);
  }

  /** What models have or are promised. */
  get used(): MemoryUse {
    return [...this.#holds].reduce((sum, { use }) => addMemory(sum, use), noMemory);
  }

  /** Reserves memory; undefined when it is not left. */
  reserve(use: MemoryUse): MemoryHold | undefined {
    if (!isWithin(use, this.left)) return undefined;
    const hold = new Hold(use, this, (changed, isReleased) => {
      if (isReleased) this.#holds.delete(changed);
      for (const resolve of this.#waiting.splice(0)) resolve();
    });
    this.#holds.add(hold);
    return hold;
  }

  /** Adds a pool whose idle models may be unloaded to make room. */
  addPool(idleModels: () => readonly IdleModel[]): void {
    this.#idleModels.add(idleModels);
  }

  /**
   * Makes room: the next load or unload that is under way ends, or else a model gives back what it has taken since its load, or
   * else the least recently used idle model is unloaded. Undefined: none of them is possible.
   */
  makeRoom(): Promise<void> | undefined {
    if ([...this.#holds].some(({ isChanging }) => isChanging))
      return new Promise((resolve) => void this.#waiting.push(resolve));
    for (const hold of this.#holds) {
      const shrinking = hold.giveBack();
      if (shrinking) return shrinking;
    }
    const [oldest] = [...this.#idleModels]
      .flatMap((idleModels) => idleModels())
      .toSorted((a, b) => a.lastUse - b.lastUse);
    // One that cannot be disposed of makes no room; the next call takes another.
    return oldest?.unload().catch(() => undefined);
  }
}

const bytesOf = (megabytes: number): number => (megabytes === 0 ? Infinity : megabytes * bytesPerMegabyte);
