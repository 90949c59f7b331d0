import { randomInt } from 'node:crypto';
import type { Token } from '../../decoding/tokenizer.ts';
import type { FinishReason, GenerateOptions } from '../../contract/engine.ts';
import { EitherSignal, settledWithin } from '../../../base/abort.ts';
import { afterMs, onAbort, onceAny } from '../../../base/events.ts';
import type { TokenThrottle } from '../../contract/pace.ts';
import type { GenerationStart } from '../../decoding/sequencePrompts.ts';
import type { Generation } from './generation.ts';
import type { GeneratedPiece } from './generatedText.ts';
import type { RemoteCompletionPart, RemoteRequest } from '../inferenceServer.ts';
import type { SlotLease } from './remoteRunner.ts';
import type { Vocabulary } from '../vocabulary.ts';

export interface SegmentOptions extends Pick<GenerateOptions, 'pace' | 'backpressure' | 'sampling'> {
  /** What the text continues. */
  readonly start: GenerationStart;
  /** What is added to the logits of tokens (`logit_bias`). */
  readonly biases: ReadonlyMap<Token, number>;
  readonly vocabulary: Vocabulary;
  readonly throttle: TokenThrottle;
  /** Whether the probabilities of tokens are wanted. */
  readonly choices: boolean;
}

/** A request for a part of the text. After a pause it is sent again where the text is drawn. */
interface Segment {
  readonly context: readonly Token[];
  /** Index of its first piece. */
  readonly from: number;
  readonly seed: number;
  /** What constrains it; undefined: nothing. */
  readonly gbnf: string | undefined;
}

/**
 * Generates a text segment by segment. When it has to wait, its request is closed, so that others have the slot, and later it
 * goes on from the tokens so far. A server cannot continue its random numbers: where tokens are drawn, the segment is computed
 * again with its seed, and what was emitted already is left out.
 */
export class Segments {
  readonly #generation: Generation;
  readonly #options: SegmentOptions;
  readonly #seed: number;
  /** How many tokens there are in all, those of the prompt included. */
  tokens: number;
  #segment: Segment | undefined;
  #count = 0;
  #hasAsked = false;
  /** Whether a token has come since the last wait: backpressure is checked between tokens. */
  #hasProgressed = false;

  constructor(generation: Generation, options: SegmentOptions) {
    this.#generation = generation;
    this.#options = options;
    this.tokens = options.start.tokens.length;
    this.#seed = options.sampling.seed || 1 + randomInt(maxSeed);
  }

  /** Whether a token has been generated. */
  get isStarted(): boolean {
    return this.#generation.text.pieces.length > 0;
  }

  /** Generates until the text ends or it has to wait. */
  readonly compute = async (lease: SlotLease): Promise<FinishReason | 'paused'> => {
    this.#hasProgressed = false;
    for (;;) {
      await this.#generation.prepareSegment();
      const finished = this.#generation.state.finishReason;
      if (finished) return finished;
      const outcome = await this.#run(lease);
      if (outcome !== 'paused') this.#segment = undefined;
      if (outcome) return this.#generation.state.finishReason ?? outcome;
    }
  };

  /** One request. Undefined: another one is to follow. */
  async #run(lease: SlotLease): Promise<FinishReason | 'paused' | undefined> {
    const { endpoint, slot, signal } = lease;
    const { pieces } = this.#generation.text;
    const { course } = this.#options.start;
    const isDrawn = this.#options.sampling.temperature > 0;
    const segment = (isDrawn && this.#segment) || (await this.#newSegment());
    this.#segment = segment;
    const replayed = pieces.slice(segment.from);
    const replayedTokens = replayed.reduce((sum, { count }) => sum + count, 0);
    this.tokens = segment.context.length + replayedTokens;
    if (endpoint.slots.mustGiveBack(slot, this.tokens)) return 'paused';
    slot.tokens = segment.context;
    const request: RemoteRequest = {
      prompt: segment.context,
      slot: slot.id,
      maxTokens: this.#generation.state.tokensLeft + replayedTokens,
      sampling: this.#options.sampling,
      biases: this.#options.biases,
      seed: segment.seed,
      gbnf: segment.gbnf,
      ...(this.#options.choices && { probabilities: { likeliest: likeliestTokens } }),
    };
    const ending = new AbortController();
    using either = new EitherSignal([signal, ending.signal]);
    const parts = endpoint.server.complete(request, either.signal);
    const isFirst = !this.#hasAsked;
    this.#hasAsked = true;
    const reader = pieceReader(this.#options.vocabulary);
    let index = 0;
    let received = 0;
    try {
      for (;;) {
        const wait = index < replayed.length ? undefined : await this.#wait(lease);
        if (wait) return wait;
        const next = await parts.next();
        if (next.done) {
          const reason = next.value;
          const last = reason === 'eos' ? [] : reader.last();
          if (last.slice(replayed.length - index).some((piece) => this.#accept(piece))) return undefined;
          return reason === 'eos' ? 'end' : 'length';
        }
        const { reused, count } = next.value;
        if (isFirst) course.reused ??= reused;
        received += count;
        this.tokens = Math.max(this.tokens, segment.context.length + received);
        for (const piece of reader.read(next.value)) {
          const expected = replayed[index++];
          // Where the server computes other tokens this time: go on from those that were emitted.
          if (expected ? expected.text === piece.text : !this.#accept(piece)) continue;
          if (received >= request.maxTokens) await this.#readEnd(parts, isFirst);
          return undefined;
        }
      }
    } finally {
      ending.abort();
      await parts.return('limit');
    }
  }

  /** Reads what a server says last, so that its connection stays open. One that does not end by itself is not waited for. */
  async #readEnd(parts: AsyncIterable<RemoteCompletionPart>, isFirst: boolean): Promise<void> {
    const read = async (): Promise<void> => {
      for await (const { reused } of parts) if (isFirst) this.#options.start.course.reused ??= reused;
    };
    await settledWithin(maxEndMs, read());
  }

  #accept(piece: GeneratedPiece): boolean {
    this.#hasProgressed = true;
    this.#options.start.course.onToken();
    this.#options.throttle.spend(piece.count);
    return this.#generation.accept(piece);
  }

  async #newSegment(): Promise<Segment> {
    const { text, gbnf } = this.#generation;
    const context = [...this.#options.start.tokens, ...(await text.tokens())];
    return { context, from: text.pieces.length, seed: 1 + ((this.#seed - 1 + this.#count++) % maxSeed), gbnf };
  }

  /** Waits between two tokens; returns why the request is to end instead. */
  async #wait({ endpoint: { slots }, slot, signal }: SlotLease): Promise<'aborted' | 'paused' | undefined> {
    const { pace, backpressure, throttle } = this.#options;
    for (;;) {
      if (signal.aborted) return 'aborted';
      if (pace?.limits.paused || (this.#hasProgressed && backpressure?.())) return 'paused';
      if (this.#hasProgressed && slots.mustGiveBack(slot, this.tokens)) return 'paused';
      const ms = throttle.waitMs();
      if (ms === 0) return undefined;
      // Others have the slot in the meantime.
      if (slots.waiting > 0) return 'paused';
      await onceAny(afterMs(ms), slots.onWait, onAbort(signal), ...(pace ? [pace.onChange] : []));
    }
  }
}

/** From the last token that was asked for to the end of the response. */
const maxEndMs = 1000;
/** The next one is chosen by llama.cpp itself, and 0 by others. */
const maxSeed = 0xfffffffe;
/** Each is a line of JSON for every token. */
const likeliestTokens = 10;

/** Makes pieces of the parts of a completion. A control token waits for the next part: it may be the end of the text. */
function pieceReader(vocabulary: Vocabulary) {
  let held: readonly GeneratedPiece[] = [];
  const last = (): readonly GeneratedPiece[] => {
    const ready = held;
    held = [];
    return ready;
  };
  const read = ({ text, tokens, count, logprobs }: RemoteCompletionPart): readonly GeneratedPiece[] => {
    if (count === 0) return [];
    const ready = last();
    const [token] = tokens;
    const known = tokens.find((each) => logprobs?.has(each));
    const more = logprobs && known !== undefined && { chosen: { token: known, logprobs } };
    if (tokens.length !== 1 || token === undefined || !vocabulary.isControl(token))
      return [
        ...ready,
        { text, tokens: tokens.length === count ? tokens : undefined, count, isControl: false, ...more },
      ];
    held = [{ text: vocabulary.controlSpelling(token), tokens, count: 1, isControl: true, ...more }];
    return ready;
  };
  return { read, last };
}
