import type { LlamaContextSequence, Token } from 'node-llama-cpp';
import { cachedPrefixLength } from './prefixReuse.ts';
import type { StateStore, StateFile } from './stateStore.ts';
import { MovingAverage, type BatchTimer } from '../batching/batchTimer.ts';
import { commonPrefixLength } from '../../commonPrefix.ts';

/** Whose state it is: a sequence. */
type Owner = object;

/** What was put aside of an owner. */
interface SwappedState {
  readonly tokens: readonly Token[];
  readonly bytes: number;
  readonly file: StateFile;
}

/**
 * The states of sequences that lost their slot, on disk: put aside and brought back where measured rates say that this is
 * quicker than to evaluate their tokens anew. A state is only ever brought back to the owner it was taken from.
 */
export class StateSwap {
  readonly #store: StateStore;
  readonly #batchTimer: BatchTimer;
  readonly #states = new Map<Owner, Promise<SwappedState | undefined>>();
  readonly #saving = new MovingAverage();
  readonly #restoring = new MovingAverage();
  readonly #gone = new WeakSet<Owner>();
  #bytesPerToken: number;
  #bytes = 0;
  #saved = 0;
  #restored = 0;
  #pausedUntil = 0;

  /** @param bytesPerToken how much of a state a token is thought to take, until it is known. */
  constructor(folder: StateStore, batchTimer: BatchTimer, bytesPerToken: number) {
    this.#store = folder;
    this.#batchTimer = batchTimer;
    this.#bytesPerToken = bytesPerToken;
  }

  /** Puts aside what a cache holds of an owner who loses it. */
  async swapOut(owner: Owner, cache: LlamaContextSequence): Promise<void> {
    const tokens = [...cache.contextTokens];
    const before = this.#states.get(owner);
    const saving = (async () => {
      await (await before)?.file.drop();
      return !this.#gone.has(owner) && this.#isWorthSaving(tokens.length)
        ? this.#write(owner, cache, tokens)
        : undefined;
    })();
    this.#states.set(owner, saving);
    await saving;
  }

  /** Brings back into a cache what was put aside of its new owner, if that is quicker than to evaluate the prompt. */
  async swapIn(owner: Owner, cache: LlamaContextSequence, prompt: Token[]): Promise<void> {
    const state = await this.#states.get(owner);
    this.#states.delete(owner);
    if (!state) return;
    state.file.read();
    try {
      const gained = commonPrefixLength(state.tokens, prompt) - cachedPrefixLength(cache, prompt);
      if (
        gained <= 0 ||
        gained * (this.#batchTimer.prefillMsPerToken.value ?? Infinity) < state.bytes * (this.#restoring.value ?? 0)
      )
        return;
      const start = performance.now();
      await cache.loadStateFromFile(state.file.file, { acceptRisk: true });
      this.#restoring.add((performance.now() - start) / state.bytes);
      this.#restored++;
    } finally {
      await state.file.drop();
    }
  }

  /** Removes what was put aside of an owner who goes. */
  async discard(owner: Owner): Promise<void> {
    this.#gone.add(owner);
    const state = this.#states.get(owner);
    this.#states.delete(owner);
    await (await state)?.file.drop();
  }

  stats(): { readonly statesSaved: number; readonly statesRestored: number; readonly stateBytes: number } {
    return { statesSaved: this.#saved, statesRestored: this.#restored, stateBytes: this.#bytes };
  }

  #isWorthSaving(tokens: number): boolean {
    if (tokens < minTokensToSwap || performance.now() < this.#pausedUntil) return false;
    const bytes = tokens * this.#bytesPerToken;
    const detour = bytes * ((this.#saving.value ?? 0) + (this.#restoring.value ?? this.#saving.value ?? 0));
    return tokens * (this.#batchTimer.prefillMsPerToken.value ?? Infinity) > detour;
  }

  /** Writes a state; a disk that does not take it is left alone for a while, and the tokens are evaluated again. */
  async #write(owner: Owner, cache: LlamaContextSequence, tokens: readonly Token[]): Promise<SwappedState | undefined> {
    let slot: StateFile | undefined;
    let bytes = 0;
    try {
      const dropped = (): void => {
        this.#bytes -= bytes;
        if (this.#states.get(owner) === own) this.#states.delete(owner);
      };
      const own = this.#states.get(owner);
      slot = await this.#store.reserve(Math.ceil(tokens.length * this.#bytesPerToken * sizeMargin), dropped);
      if (!slot) return undefined;
      const start = performance.now();
      const { fileSize } = await cache.saveStateToFile(slot.file);
      this.#saving.add((performance.now() - start) / fileSize);
      this.#bytesPerToken = fileSize / tokens.length;
      slot.commit(fileSize);
      bytes = fileSize;
      this.#bytes += bytes;
      this.#saved++;
      return { tokens, bytes, file: slot };
    } catch {
      this.#pausedUntil = performance.now() + diskErrorCooldownMs;
      this.#store.recreate();
      await slot?.drop().catch(() => undefined);
      return undefined;
    }
  }
}

// Less is evaluated before a file is open.
const minTokensToSwap = 16;
const sizeMargin = 1.05;
const diskErrorCooldownMs = 60_000;

/** How many tokens two lists share from the first on. */
