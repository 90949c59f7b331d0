import {
  addMemory,
  isWithin,
  noMemory,
  subtractMemory,
  type MemoryUse,
  type LoadPlan,
  totalMemory,
  type SlotResizing,
} from '../../contract/memory.ts';
import { raceAbort } from '../../../base/abort.ts';
import type { Engine, LoadOptions, Model } from '../../contract/engine.ts';
import { Fault } from '../../../protocol/fault.ts';
import { ceilMegabytes } from '../../../base/units.ts';

/** A model that can be unloaded. */
export interface IdleModel {
  /** When it was used last, by `performance.now()`. */
  readonly lastUse: number;
  /** Unloads it; rejects when it could not be disposed of. */
  readonly unload: () => Promise<void>;
}

/** Memory that a model has, or is promised. */
export type MemoryHold = ReturnType<typeof memoryHold>;

/** @param onChange is called when its memory has changed, or is free. */
function memoryHold(reserved: MemoryUse, budget: MemoryBudget, onChange: (isReleased: boolean) => void) {
  let use = reserved;
  // A load or an unload is under way.
  let isPending = true;
  let isShrinking = false;
  let hasGrown = false;
  let shrink: (() => Promise<void>) | undefined;
  return {
    get use(): MemoryUse {
      return use;
    },
    /** Whether its memory is going to change. */
    isChanging: (): boolean => isPending || isShrinking,
    /** The load is complete: from now on it has what it really takes. @param giveBack gives back what `resize` has added. */
    settle(taken: MemoryUse, giveBack?: () => Promise<void>): void {
      use = taken;
      shrink = giveBack;
      isPending = false;
      onChange(false);
    },
    /** The model is to take more or less from now on. @returns false when so much is not left. */
    resize(wanted: MemoryUse): boolean {
      const more = subtractMemory(wanted, use);
      const { left } = budget;
      if ((more.ram > 0 && more.ram > left.ram) || (more.vram > 0 && more.vram > left.vram)) return false;
      use = wanted;
      if (more.ram > 0 || more.vram > 0) hasGrown = true;
      onChange(false);
      return true;
    },
    /** Gives back what it has taken since its load, once; undefined: that is nothing. */
    giveBack(): Promise<void> | undefined {
      if (!hasGrown || !shrink) return undefined;
      hasGrown = false;
      isShrinking = true;
      const end = (): void => {
        isShrinking = false;
        onChange(false);
      };
      return shrink().then(end, end);
    },
    /** The model is being unloaded: its memory is going to be free. */
    expire: (): void => void (isPending = true),
    /** The memory is free. */
    release: (): void => onChange(true),
  };
}

/**
 * Memory budget: what all models of all pools may take together. It is reserved before a load, in one step without an await,
 * so that two loads are never promised the same memory; after the load the reservation is what the model really takes.
 */
export class MemoryBudget {
  /** Bytes; Infinity: no limit. */
  readonly limit: MemoryUse;
  readonly #holds = new Set<MemoryHold>();
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
    const hold = memoryHold(use, this, (isReleased) => {
      if (isReleased) this.#holds.delete(hold);
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
    if ([...this.#holds].some(({ isChanging }) => isChanging()))
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

const bytesOf = (megabytes: number): number => (megabytes === 0 ? Infinity : megabytes * 1_000_000);

interface BudgetedLoad {
  readonly engine: Engine;
  readonly file: string;
  readonly options: LoadOptions;
  readonly budget: MemoryBudget | undefined;
  /** Receives the reservation before the load. The caller releases it once the model is unloaded. */
  readonly onHold: (hold: MemoryHold) => void;
  /** The model has another number of slots. */
  readonly onResized: SlotResizing['onResized'];
}

/**
 * Loads a model within the memory budget. Where that leaves too little, others give back slots that they have got on demand, and idle
 * models are unloaded; where that is not enough, the model gets fewer slots and a shorter context.
 * @throws Fault MODEL_LOAD_FAILED, with both numbers when the smallest context does not fit.
 */
export async function loadWithinBudget(load: BudgetedLoad): Promise<Model> {
  const { engine, file, options, budget, onHold, onResized } = load;
  const { estimate } = engine;
  // A number that is asked for is kept.
  const resizingWith = (requestMemory: SlotResizing['requestMemory']): SlotResizing | undefined =>
    options.slots === 0 ? { requestMemory, onResized } : undefined;
  if (!estimate || !budget?.isLimited)
    return engine.load(file, { ...options, resizing: resizingWith(async () => true) });
  const reserved = await reserve(budget, file, options, (within) =>
    estimate.call(engine, file, within ? { ...options, within } : options),
  );
  try {
    const { use } = reserved;
    // What is not limited may be taken beyond the estimate.
    const within = { ram: boundedBy(budget.limit.ram, use.ram), vram: boundedBy(budget.limit.vram, use.vram) };
    const resizing = resizingWith(async (memory) => reserved.resize(memory));
    const model = await engine.load(file, { ...options, within, resizing });
    reserved.settle(totalMemory(model.stats().memory), async () => model.shrink?.());
    onHold(reserved);
    return model;
  } catch (error) {
    reserved.release();
    throw error;
  }
}

async function reserve(
  budget: MemoryBudget,
  file: string,
  { signal }: LoadOptions,
  estimate: (within?: MemoryUse) => Promise<LoadPlan>,
): Promise<MemoryHold> {
  const full = await estimate();
  const wanted = addMemory(totalMemory(full), headroomOf(full));
  for (;;) {
    if (signal?.aborted) throw new Fault('MODEL_LOAD_FAILED', `loading ${file} was cancelled`);
    const hold = budget.reserve(wanted);
    if (hold) return hold;
    const room = budget.makeRoom();
    if (room) {
      await raceAbort(room, signal);
      continue;
    }
    const { left } = budget;
    const needed = totalMemory(await estimate(left));
    // Other loads may have begun or ended meanwhile.
    if (budget.left.ram !== left.ram || budget.left.vram !== left.vram) continue;
    const all = { ram: finiteOr(left.ram, needed.ram), vram: finiteOr(left.vram, needed.vram) };
    const rest = isWithin(needed, left) ? budget.reserve(all) : undefined;
    if (rest) return rest;
    throw tooLarge(file, budget, needed);
  }
}

/** Weights can take more than their estimate: some processors have formats of their own for them. */
const headroomShare = 0.4;
const headroomOf = ({ weights }: LoadPlan): MemoryUse => ({ ram: weights.ram * headroomShare, vram: 0 });

const finiteOr = (value: number, other: number): number => (Number.isFinite(value) ? value : other);
const boundedBy = (limit: number, share: number): number => (Number.isFinite(limit) ? share : Infinity);

function tooLarge(file: string, { limit, left }: MemoryBudget, needed: MemoryUse): Fault {
  const [part, flag] =
    needed.ram > left.ram ? (['ram', '--memory-limit'] as const) : (['vram', '--vram-limit'] as const);
  const isShared = left[part] < limit[part];
  return new Fault(
    'MODEL_LOAD_FAILED',
    `${file} cannot be loaded: with the smallest context it needs ${ceilMegabytes(needed[part])} MB, and ` +
      `${Math.floor(Math.max(0, left[part]) / 1e6)} MB of the ${ceilMegabytes(limit[part])} MB of ${flag} are left; ` +
      `${isShared ? 'unload other models, ' : ''}use a smaller ${isShared ? 'one' : 'model'}, or raise the limit`,
  );
}
