import { raceAbort } from '../../../base/abort.ts';
import type { Engine, LoadOptions, Model } from '../../contract/engine.ts';
import {
  addMemory,
  isWithin,
  totalMemory,
  type LoadPlan,
  type MemoryUse,
  type SlotResizing,
} from '../../contract/memory.ts';
import { Fault } from '../../../protocol/fault.ts';
import { ceilMegabytes } from '../../../base/units.ts';
import type { MemoryBudget, MemoryHold } from './memoryBudget.ts';

/** A load that a budget limits. */
export interface BudgetedLoad {
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
 * Loads a model within a budget. Where that leaves too little, others give back slots that they have got on demand, and idle
 * models are unloaded; where that is not enough, the model gets fewer slots and a shorter context.
 * @throws Fault MODEL_LOAD_FAILED, with both numbers when the smallest context does not fit.
 */
export async function loadWithinBudget({
  engine,
  file,
  options,
  budget,
  onHold,
  onResized,
}: BudgetedLoad): Promise<Model> {
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

type EstimateWithin = (within?: MemoryUse) => Promise<LoadPlan>;

async function reserve(
  budget: MemoryBudget,
  file: string,
  { signal }: LoadOptions,
  estimate: EstimateWithin,
): Promise<MemoryHold> {
  const full = await estimate();
  const wanted = addMemory(totalMemory(full), headroomOf(full));
  for (;;) {
    if (signal?.aborted) throw new Fault('MODEL_LOAD_FAILED', `loading ${file} was cancelled`);
    const hold = budget.reserve(wanted);
    if (hold) return hold;
    const room = budget.makeRoom();
    if (room) {
      await (signal ? raceAbort(room, signal) : room);
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
