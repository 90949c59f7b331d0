import type { LlamaContext } from 'node-llama-cpp';
import type { MemoryUse, ModelMemory, SlotResizing } from '../../contract/memory.ts';
import { subtractMemory, totalMemory } from '../../contract/memory.ts';
import { describeError, Fault } from '../../../protocol/fault.ts';
import { type ContextSettings, freeBytes } from '../contextMemory.ts';
import type { ModelContext } from '../createContext.ts';
import { limitCheckpoints } from './checkpoints.ts';
import type { SequenceCacheParts } from './sequenceCache.ts';

/** A context that has not been used for so long gets its first number of slots back. */
const idleMs = 5 * 60_000;

export interface SlotResizerParts
  extends
    Pick<ModelContext, 'context' | 'makeContext'>,
    Pick<SequenceCacheParts, 'slots' | 'contextSize' | 'stateSwap'> {
  readonly memory: ModelMemory;
  /** What the model takes with so many slots of the full size. */
  readonly memoryWith: (slots: number) => Promise<ModelMemory>;
  /** Undefined: the number of slots is fixed. */
  readonly resizing: SlotResizing | undefined;
  /** It has another number of slots now. */
  readonly onResized: () => void;
  /** Aborted when the model is unloaded. */
  readonly closing: AbortSignal;
}

/**
 * Changes the slots while a model is in use: owns its context, whose number of sequences and cells is fixed, and makes it anew.
 * It gets more slots when agents have waited for one (`SlotDemand`) and memory is plentiful, and its first number again when
 * it was idle for long. Its slots get twice as many tokens when a conversation needs them (`reserve`). Meanwhile no
 * inference has a slot: those under way pause between two tokens, and the states of all slots are swapped out.
 */
export class SlotResizer implements AsyncDisposable {
  readonly #parts: SlotResizerParts;
  readonly #demand = new SlotDemand();
  readonly #initialSlots: number;
  #context: LlamaContext;
  #memory: ModelMemory;
  #work: Promise<void> | undefined;
  #idleTimer: NodeJS.Timeout | undefined;
  /** A context with more slots could not be made: it is not tried again. */
  #hasFailed = false;
  /** There is no context any more: every acquisition of a slot says why. */
  #isLost = false;
  /** Longer slots could not be made: that is tried again at this time. */
  #growsAgainAt = -Infinity;

  constructor(parts: SlotResizerParts) {
    this.#parts = parts;
    this.#context = parts.context;
    this.#memory = parts.memory;
    this.#initialSlots = parts.context.totalSequences;
    if (!parts.resizing) return;
    parts.slots.onWait(() => this.#onWait());
    parts.slots.onRelease(() => this.#onRelease());
  }

  /** What the model takes now. */
  get memory(): ModelMemory {
    return this.#memory;
  }

  /** Gives back the slots that the model has got on demand: their memory is needed elsewhere. */
  async shrink(): Promise<void> {
    // Whatever waited for it may have begun another change.
    while (this.#work) await this.#work;
    this.#demand.pause();
    if (this.#context.totalSequences > this.#initialSlots)
      this.#start(() => this.#exchange({ slots: this.#initialSlots }));
    await this.#work;
  }

  /**
   * Makes the slots long enough for so many tokens and, if there is memory, for some more; or as long as they may be.
   * @throws ShortSlotFault when they cannot be made long enough for the tokens.
   */
  async reserve(tokens: number, spare: number): Promise<void> {
    const { closing, contextSize: longest } = this.#parts;
    const [needed, wanted] = [Math.min(tokens, longest), Math.min(tokens + spare, longest)];
    while (this.#context.contextSize < wanted && !closing.aborted && !this.#isLost) {
      if (this.#work) await this.#work;
      else if (performance.now() >= this.#growsAgainAt) await this.#start(() => this.#lengthen(wanted));
      else if (this.#context.contextSize < needed) throw new ShortSlotFault(needed, this.#context.contextSize);
      else return;
    }
  }

  async #lengthen(wanted: number): Promise<void> {
    try {
      await this.#exchange({ contextSize: this.#sizeFor(wanted) });
    } finally {
      if (this.#context.contextSize < wanted) this.#growsAgainAt = performance.now() + pauseMs;
    }
  }

  #sizeFor(tokens: number): number {
    let { contextSize } = this.#context;
    while (contextSize < tokens) contextSize *= 2;
    return Math.min(contextSize, this.#parts.contextSize);
  }

  /** Waits for a change that is under way, and disposes of the context. No inference may have a slot any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#idleTimer);
    await this.#work;
    await this.#context.dispose();
  }

  #onWait(): void {
    const { slots } = this.#parts;
    if (this.#work || this.#hasFailed || !slots.hasDemand) return;
    if (this.#demand.add(this.#context.totalSequences)) this.#start(() => this.#grow());
  }

  #onRelease(): void {
    clearTimeout(this.#idleTimer);
    if (this.#context.totalSequences === this.#initialSlots || !this.#parts.slots.isIdle) return;
    this.#idleTimer = setTimeout(() => this.#onIdle(), idleMs).unref();
  }

  #onIdle(): void {
    if (this.#parts.slots.isIdle) this.#start(() => this.#exchange({ slots: this.#initialSlots }));
  }

  #start(work: () => Promise<void>): Promise<void> | undefined {
    if (this.#work || this.#parts.closing.aborted) return undefined;
    // What fails leaves the slots as they are, or is told to each inference.
    const ended = work().catch(() => undefined);
    return (this.#work = ended.finally(() => (this.#work = undefined)));
  }

  async #grow(): Promise<void> {
    const { resizing, memoryWith } = this.#parts;
    const { totalSequences } = this.#context;
    const wanted = moreSlots(totalSequences);
    if (wanted === totalSequences) return this.#demand.pause();
    const total = totalMemory(await memoryWith(wanted));
    const more = subtractMemory(total, totalMemory(this.#memory));
    const isFree = isPlentiful(more, await freeBytes(this.#context.model.llama));
    if (isFree && (await resizing?.requestMemory(total))) await this.#exchange({ slots: wanted });
    else this.#demand.pause();
  }

  /** Makes the context anew with other slots; when that fails, as it was before, or with one slot. */
  async #exchange(change: Partial<ContextSettings>): Promise<void> {
    const { slots, closing, onResized, memory, memoryWith, resizing } = this.#parts;
    const before = { slots: this.#context.totalSequences, contextSize: this.#context.contextSize };
    const wanted = { ...before, ...change };
    await slots.vacate();
    await this.#swapOut();
    await this.#context.dispose();
    if (closing.aborted) return;
    try {
      this.#context = await this.#make([wanted, before, { ...before, slots: 1 }]);
    } catch (error) {
      slots.fail(lostFault(error));
      this.#isLost = true;
      return onResized();
    }
    if (memory.checkpoints) limitCheckpoints(this.#context, memory.checkpoints.ram);
    this.#hasFailed = this.#context.totalSequences < wanted.slots;
    this.#demand.reset();
    slots.fill(this.#context);
    // An estimate that fails leaves the one before.
    this.#memory = await memoryWith(this.#context.totalSequences).catch(() => this.#memory);
    await resizing?.requestMemory(totalMemory(this.#memory));
    if (this.#context.totalSequences !== before.slots) onResized();
    this.#onRelease();
  }

  async #swapOut(): Promise<void> {
    const { slots, stateSwap } = this.#parts;
    for (const { owner, slot } of slots.owned) {
      // What cannot be written is evaluated again.
      await stateSwap?.swapOut(owner, slot.cache, slot.stableTokens).catch(() => undefined);
    }
  }

  async #make([wanted, ...others]: readonly [ContextSettings, ...ContextSettings[]]): Promise<LlamaContext> {
    const { closing } = this.#parts;
    const [next, ...rest] = others;
    try {
      return await this.#parts.makeContext(wanted, closing);
    } catch (error) {
      if (!next || closing.aborted) throw error;
      return this.#make([next, ...rest]);
    }
  }
}

const lostFault = (error: unknown): Fault =>
  new Fault(
    'INFERENCE_FAILED',
    `the context of the model could not be made anew (${describeError(error)}): unload the model, and load it again`,
    { cause: error },
  );

/** There is no memory for slots of so many tokens. */
export class ShortSlotFault extends Fault {
  constructor(wanted: number, size: number) {
    const remedy = 'end other programs, or lower context_size of the model or --slots';
    super('INFERENCE_FAILED', `there is no memory for a context of ${wanted} tokens, only for ${size}: ${remedy}`);
  }
}

/** More sequences in a batch make each of them slow. */
const maxSlots = 16;

/** The number of slots that a context with so many gets next; the same number: no more. */
export const moreSlots = (slots: number): number => Math.max(slots, Math.min(2 * slots, maxSlots));

/** Waits that are further apart say little about how many agents speak at once. */
const windowMs = 60_000;
/** With so many waits for each slot within the window, more slots are used, and not for one moment only. */
const waitsPerSlot = 2;
/** Memory that was not there is looked for again after this time. */
const pauseMs = 60_000;

/** The demand for slots: whether so many requests have waited for one that more slots are worth their memory. */
export class SlotDemand {
  readonly #now: () => number;
  #waits: readonly number[] = [];
  #pausedUntil = -Infinity;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** A request begins to wait. @returns whether more than these slots are in demand. */
  add(slots: number): boolean {
    const now = this.#now();
    const wanted = waitsPerSlot * slots;
    this.#waits = [...this.#waits.filter((at) => at > now - windowMs), now].slice(-wanted);
    return this.#waits.length === wanted && now >= this.#pausedUntil;
  }

  /** There is another number of slots now: what was before says nothing about it. */
  reset(): void {
    this.#waits = [];
  }

  /** There was too little memory for more slots. */
  pause(): void {
    this.#pausedUntil = this.#now() + pauseMs;
  }
}

/** Of the free memory, this part at least stays free, and this many bytes. */
const freeDivisor = 4;
const minFreeBytes = 2 ** 30;

/** Whether there is so much free memory that a model may take more of it only to be faster. */
export const isPlentiful = (more: MemoryUse, free: MemoryUse): boolean =>
  (['ram', 'vram'] as const).every(
    (part) => more[part] <= 0 || (more[part] * freeDivisor <= free[part] && free[part] - more[part] >= minFreeBytes),
  );
