import type { LlamaContextSequence, Token } from 'node-llama-cpp';
import { commonPrefixLength } from '../../../base/commonPrefix.ts';
import { patchMethod } from '../nativePatches.ts';

export interface SpeculationOptions {
  readonly cache: LlamaContextSequence;
  /** All tokens so far, prompt first. */
  readonly context: readonly Token[];
  readonly isEnd: (token: Token) => boolean;
  /** Whether no more tokens are to be taken. */
  readonly isOver: () => boolean;
  /** Appends the tokens of a drawn one to the context, and returns them. */
  readonly take: (token: Token) => Promise<Token[]>;
  /** Prepares the draw of one more token from the same batch. */
  readonly prepareNext: () => Promise<void>;
}

/** What was drawn from a batch. */
export interface DrawnTokens {
  /** The last drawn token, which is not taken; undefined: all are taken. */
  readonly drawn?: Token | undefined;
  /** Where all are taken: the tokens at the end of the context that are not evaluated yet. */
  readonly taken?: Token[];
}

/**
 * Speculative decoding with drafts from the context (prompt lookup). A batch has the tokens to evaluate and a draft after them,
 * with logits for each position. The sampler draws as it would without the draft, one token after the other, and as long as
 * what it appends is the draft, the next token is drawn from the same batch. So the text does not depend on the draft.
 */
export class Speculation {
  readonly #options: SpeculationOptions;
  #draft: readonly Token[] = [];
  /** One repeated token says little; a text that has repeated others before goes on to do so. */
  #minMatch = 2;
  #drawnTokens: DrawnTokens | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(options: SpeculationOptions) {
    this.#options = options;
  }

  /**
   * Drafts what may follow the context, for the next batch.
   * @param appended how many tokens at the end of the context are to be evaluated.
   */
  draft(appended: number): void {
    const { cache, context, isEnd } = this.#options;
    // Without the last cell the library would shift the context.
    const room = cache.contextSize - 1 - cache.nextTokenIndex - appended;
    const draft = draftFrom(context, this.#minMatch, room);
    const end = draft.findIndex(isEnd);
    this.#draft = end < 0 ? draft : draft.slice(0, end);
  }

  /**
   * Ends a batch, and removes the tokens of a refuted draft from the KV cache.
   * @param first the token that was drawn after the last one of the context; undefined: none.
   * @param step wraps each use of the engine.
   * @throws what `isOver`, `take` and `prepareNext` throw.
   */
  async end(first: Token | undefined, step: <T>(step: () => Promise<T>) => Promise<T>): Promise<DrawnTokens> {
    const { cache, context } = this.#options;
    const drawnTokens = this.#drawnTokens ?? { drawn: first };
    const failure = this.#failure;
    this.#draft = [];
    this.#drawnTokens = undefined;
    this.#failure = undefined;
    const start = context.length - (drawnTokens.taken?.length ?? 0);
    const end = cache.nextTokenIndex;
    if (start < end) await step(() => cache.eraseContextTokenRanges([{ start, end }]));
    if (failure) throw failure.error;
    return drawnTokens;
  }

  /**
   * Adds drafts to the batches of the cache until the returned function is called.
   * @throws Error when this release of node-llama-cpp has no such method.
   */
  apply(): () => void {
    const withDraft =
      (decode: DecodeTokens): DecodeTokens =>
      (tokens, logits, priority, meter, shift, draw, ...rest) => {
        const draft = this.#draft;
        const drawn = draft.length === 0 ? draw : this.#checkedDraw(tokens.length - 1, draw);
        const drawnFrom = [...logits];
        for (const index of draft.keys()) drawnFrom[tokens.length + index] = true;
        return decode([...tokens, ...draft], drawnFrom, priority, meter, shift, drawn, ...rest);
      };
    return patchMethod(this.#options.cache, '_decodeTokens', withDraft);
  }

  /**
   * Draws from the position before the draft, and then from those up to which the draft is right. It does not throw: that
   * would end the batches of all sequences.
   */
  #checkedDraw(last: number, draw: Draw): Draw {
    let next = last;
    return async (logitIndex, index) => {
      if (index !== next) return undefined;
      const token = await draw(logitIndex, index);
      const rightTokens = await this.#check(token, index - last).catch((error: unknown) => {
        this.#failure = { error };
        return 0;
      });
      next = rightTokens > 0 ? index + rightTokens : -1;
      return token;
    };
  }

  /** Compares a drawn token with the draft from an offset on; returns how many tokens are right, 0 = draw no more. */
  async #check(token: Token | null | undefined, offset: number): Promise<number> {
    const { isOver, take, prepareNext } = this.#options;
    const draft = this.#draft.slice(offset);
    // The draw has failed. Later ones are repeated in the next batch; the first one is an error of the library's.
    if (token === null || token === undefined || token < 0) return 0;
    this.#drawnTokens = { drawn: token };
    if (draft[0] !== token || isOver()) return 0;
    this.#minMatch = 1;
    const taken = await take(token);
    this.#drawnTokens = { taken };
    if (commonPrefixLength(taken, draft) < taken.length || isOver()) return 0;
    await prepareNext();
    return taken.length;
  }
}

type Draw = (logitIndex: number, index: number) => Promise<Token | null | undefined>;
type DecodeTokens = (
  tokens: readonly Token[],
  logits: readonly (true | undefined)[],
  priority: unknown,
  meter: unknown,
  shift: unknown,
  draw: Draw,
  ...rest: readonly unknown[]
) => Promise<readonly unknown[]>;

/** Longer repetitions tell no more about the next token. */
const maxMatchLength = 16;
/** A drafted token costs about a third of a batch of its own, and the third one is seldom right after a short repetition. */
const minDraftLength = 2;

/**
 * Drafts the next tokens by prompt lookup: what followed where the last tokens occurred before. The places where most of
 * the last tokens are repeated count; where they go on in different ways, nothing is drafted. After a long repetition the
 * draft is longer.
 * @param context the prompt and the text after it.
 * @param minMatch how many of the last tokens have to be repeated.
 * @param maxTokens largest number of drafted tokens.
 */
export function draftFrom(context: readonly Token[], minMatch: number, maxTokens: number): readonly Token[] {
  const last = context.length - 1;
  let bestLength = 0;
  let places: number[] = [];
  for (let place = last - 1; place >= 0; place--) {
    if (context[place] !== context[last]) continue;
    const length = repetitionLength(context, place);
    if (length > bestLength) places = [];
    if (length >= bestLength) places.push(place + 1);
    bestLength = Math.max(bestLength, length);
  }
  const [latest] = places;
  if (latest === undefined || bestLength < minMatch || places.some((place) => context[place] !== context[latest]))
    return [];
  const length = Math.max(minDraftLength, bestLength / 2);
  return context.slice(latest, latest + Math.max(0, Math.min(length, maxTokens)));
}

/** How many tokens up to a place equal the last ones. */
function repetitionLength(context: readonly Token[], place: number): number {
  let length = 1;
  while (length < maxMatchLength && length <= place && context[place - length] === context[context.length - 1 - length])
    length++;
  return length;
}
