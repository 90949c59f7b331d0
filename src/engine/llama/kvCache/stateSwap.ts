import type { LlamaContextSequence, Token } from 'node-llama-cpp';
import { held } from './prefixReuse.ts';
import type { StateFolder, StatePlace } from './stateStore.ts';
import { Rate, type Tempo } from '../batching/batchTimer.ts';

/** Whose state it is: a sequence. */
type Owner = object;

/** What was put aside of an owner. */
interface State {
  readonly tokens: readonly Token[];
  readonly bytes: number;
  readonly place: StatePlace;
}

/**
 * The states of sequences that lost their seat, on disk: put aside and brought back where measured rates say that this is
 * quicker than to evaluate their tokens anew. A state is only ever brought back to the owner it was taken from.
 */
export class States {
  readonly #folder: StateFolder;
  readonly #tempo: Tempo;
  readonly #states = new Map<Owner, Promise<State | undefined>>();
  readonly #saving = new Rate();
  readonly #restoring = new Rate();
  readonly #gone = new WeakSet<Owner>();
  #bytesPerToken: number;
  #bytes = 0;
  #saved = 0;
  #restored = 0;
  #restUntil = 0;

  /** @param bytesPerToken how much of a state a token is thought to take, until it is known. */
  constructor(folder: StateFolder, tempo: Tempo, bytesPerToken: number) {
    this.#folder = folder;
    this.#tempo = tempo;
    this.#bytesPerToken = bytesPerToken;
  }

  /** Puts aside what a cache holds of an owner who loses it. */
  async save(owner: Owner, cache: LlamaContextSequence): Promise<void> {
    const tokens = [...cache.contextTokens];
    const before = this.#states.get(owner);
    const saving = (async () => {
      await (await before)?.place.drop();
      return !this.#gone.has(owner) && this.#isWorthSaving(tokens.length)
        ? this.#write(owner, cache, tokens)
        : undefined;
    })();
    this.#states.set(owner, saving);
    await saving;
  }

  /** Brings back into a cache what was put aside of its new owner, if that is quicker than to evaluate the prompt. */
  async restore(owner: Owner, cache: LlamaContextSequence, prompt: Token[]): Promise<void> {
    const state = await this.#states.get(owner);
    this.#states.delete(owner);
    if (!state) return;
    state.place.read();
    try {
      const gained = shared(state.tokens, prompt) - held(cache, prompt);
      if (gained <= 0 || gained * (this.#tempo.reading.value ?? Infinity) < state.bytes * (this.#restoring.value ?? 0))
        return;
      const start = performance.now();
      await cache.loadStateFromFile(state.place.file, { acceptRisk: true });
      this.#restoring.measured((performance.now() - start) / state.bytes);
      this.#restored++;
    } finally {
      await state.place.drop();
    }
  }

  /** Removes what was put aside of an owner who goes. */
  async forget(owner: Owner): Promise<void> {
    this.#gone.add(owner);
    const state = this.#states.get(owner);
    this.#states.delete(owner);
    await (await state)?.place.drop();
  }

  figures(): { readonly statesSaved: number; readonly statesRestored: number; readonly stateBytes: number } {
    return { statesSaved: this.#saved, statesRestored: this.#restored, stateBytes: this.#bytes };
  }

  #isWorthSaving(tokens: number): boolean {
    if (tokens < fewest || performance.now() < this.#restUntil) return false;
    const bytes = tokens * this.#bytesPerToken;
    const detour = bytes * ((this.#saving.value ?? 0) + (this.#restoring.value ?? this.#saving.value ?? 0));
    return tokens * (this.#tempo.reading.value ?? Infinity) > detour;
  }

  /** Writes a state; a disk that does not take it is left alone for a while, and the tokens are evaluated again. */
  async #write(owner: Owner, cache: LlamaContextSequence, tokens: readonly Token[]): Promise<State | undefined> {
    let place: StatePlace | undefined;
    let bytes = 0;
    try {
      const dropped = (): void => {
        this.#bytes -= bytes;
        if (this.#states.get(owner) === own) this.#states.delete(owner);
      };
      const own = this.#states.get(owner);
      place = await this.#folder.room(Math.ceil(tokens.length * this.#bytesPerToken * margin), dropped);
      if (!place) return undefined;
      const start = performance.now();
      const { fileSize } = await cache.saveStateToFile(place.file);
      this.#saving.measured((performance.now() - start) / fileSize);
      this.#bytesPerToken = fileSize / tokens.length;
      place.written(fileSize);
      bytes = fileSize;
      this.#bytes += bytes;
      this.#saved++;
      return { tokens, bytes, place };
    } catch {
      this.#restUntil = performance.now() + restMs;
      this.#folder.again();
      await place?.drop().catch(() => undefined);
      return undefined;
    }
  }
}

// Less is evaluated before a file is open.
const fewest = 16;
const margin = 1.05;
const restMs = 60_000;

/** How many tokens two lists share from the first on. */
function shared(a: readonly Token[], b: readonly Token[]): number {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length++;
  return length;
}
