import type { LlamaGrammarEvaluationState, Token } from 'node-llama-cpp';
import type { CallGrammar } from '../../../tools/grammar/grammar.ts';
import { openedIn } from '../../../tools/grammar/triggers.ts';
import { withoutMarks } from '../../../tools/reasoning/reasoningSpans.ts';
import { Walk } from '../../../tools/grammar/matcher.ts';
import type { Stopped } from '../../engine.ts';
import type { Grammars } from './grammarCache.ts';
import type { Pen } from './sampler.ts';
import { isCut, type TextStream } from '../tokenizer/streamingDetokenizer.ts';
import type { Vocabulary } from '../tokenizer/tokenizer.ts';
import { Wording } from './forcedTokens.ts';

export interface BoundPenParts {
  readonly grammar: CallGrammar;
  readonly vocabulary: Vocabulary;
  readonly grammars: Grammars;
  readonly stream: TextStream;
  /** What the template has begun on the model's behalf: the text goes on from there. */
  readonly opened: string;
  /** Tokens that free text may have. */
  readonly maxTokens: number;
  /** Tokens that fit into the context. */
  readonly room: number;
}

/** A pen that holds to a grammar: it draws only where there is a choice, and writes the rest at once. */
export class BoundPen implements Pen {
  readonly #parts: BoundPenParts;
  readonly #wording: Wording;
  /** The place in the piece of the text that is bound; undefined while the text is free. */
  #walk: Walk | undefined;
  #done = false;
  #state: LlamaGrammarEvaluationState | undefined;
  #stale = true;
  /** Where the text began to be free. */
  #since = 0;
  #free = 0;
  #bound = 0;

  constructor(parts: BoundPenParts) {
    const { grammar, vocabulary } = parts;
    this.#parts = parts;
    this.#wording = new Wording(vocabulary);
    this.#walk = grammar.kind === 'whole' ? Walk.of(grammar.rule) : undefined;
  }

  get grammar(): LlamaGrammarEvaluationState | undefined {
    return this.#state;
  }

  get ended(): Stopped | undefined {
    const { stream, room, maxTokens } = this.#parts;
    if (this.#done) return 'end';
    if (stream.stopped) return 'stop';
    const spent = this.#walk ? this.#bound >= this.#budget : this.#free >= maxTokens;
    return spent || stream.tokens.length >= room ? 'length' : undefined;
  }

  get #words(): string {
    const { opened, stream } = this.#parts;
    return opened + stream.decoded;
  }

  get #budget(): number {
    const { grammar, maxTokens } = this.#parts;
    return grammar.budget ?? maxTokens;
  }

  open(): readonly Token[] {
    return this.#walk ? this.#write('', this.#walk) : [];
  }

  async ready(): Promise<void> {
    if (!this.#walk) this.#state = undefined;
    else if (this.#stale) this.#state = await this.#parts.grammars.at(this.#walk);
    this.#stale = false;
  }

  take(token: Token): readonly Token[] {
    if (this.#walk) return this.#bind(token, this.#walk, this.#letters(token));
    const { grammar, stream } = this.#parts;
    const before = this.#words;
    const words = before + stream.with(token);
    const from = { start: this.#since, heard: before.length };
    const opened = grammar.kind === 'calls' ? openedIn(words, grammar.openings, from) : undefined;
    if (!opened) {
      stream.push(token);
      this.#free++;
      return [token];
    }
    const { opening, end } = opened;
    this.#bound = 0;
    return this.#bind(token, Walk.of(opening.rule).follow(opening.opens).walk, {
      head: words.slice(before.length, end),
      tail: words.slice(end),
    });
  }

  // What is drawn next depends on the text, so it has been told.
  tell(): void {}

  // A control token that is drawn where letters are wanted stands for the letters of its name.
  #letters(token: Token): Drawn {
    const { stream, vocabulary } = this.#parts;
    const isControl = vocabulary.isControl(token);
    return { head: '', tail: isControl ? stream.pending + vocabulary.spell([token], [], true) : stream.with(token) };
  }

  /** Takes a token of a bound piece: as it was drawn, or as much of it as fits, and writes what has to follow. */
  #bind(token: Token, walk: Walk, { head, tail }: Drawn): readonly Token[] {
    const { stream, vocabulary } = this.#parts;
    const { pending } = stream;
    const isControl = vocabulary.isControl(token);
    const isWhole = !isCut(tail) && pending === '';
    const harmless = withoutMarks(stream.decoded + head, tail);
    // A mark in a string would hide the call from whoever reads it.
    if (harmless !== tail && isWhole && walk.follow(harmless).length === harmless.length)
      return this.#mend(walk, head + harmless, head);
    const { walk: at, length } = walk.follow(tail);
    const stands = length === tail.length && (head === '' ? !isControl : isWhole);
    if (!stands) return this.#mend(walk, head + tail.slice(0, length), head);
    if (isWhole && !isControl && at.forced().texts.length > 0) return this.#write(head + tail, at);
    this.#push(token);
    if (stream.pending !== '') return [token];
    this.#walk = at;
    // Bytes that make no character are read in another way by llama.cpp.
    this.#stale ||= head !== '' || tail.includes('\uFFFD');
    return at.ended || at.forced().texts.length > 0 ? [token, ...this.#write('', at)] : [token];
  }

  /** Writes as much of what was drawn as fits, for it does not fit as a whole, and at least something. */
  #mend(walk: Walk, fitting: string, head: string): readonly Token[] {
    const { pending } = this.#parts.stream;
    const kept = fitting.startsWith(pending) ? fitting.slice(pending.length) : '';
    const { walk: at } = walk.follow((pending + kept).slice(head.length));
    if (kept !== '' || at.forced().texts.length > 0) return this.#write(kept, at);
    const some = at.some() ?? '';
    return this.#write(some, at.follow(some).walk);
  }

  /** Writes decided text and what has to follow it. */
  #write(own: string, walk: Walk): readonly Token[] {
    const { tokens, walk: end } = this.#wording.of(own, walk);
    const written: Token[] = [];
    this.#walk = end;
    this.#stale = true;
    for (const token of tokens) {
      if (!end.ended && this.ended) break;
      this.#push(token);
      written.push(token);
    }
    if (end.ended) this.#close();
    return written;
  }

  #push(token: Token): void {
    this.#parts.stream.push(token, true);
    this.#bound++;
  }

  #close(): void {
    const { grammar } = this.#parts;
    this.#walk = undefined;
    this.#done = grammar.kind === 'whole';
    this.#since = this.#words.length;
  }
}

/** The text of a token: what precedes the bound piece, and what is in it. */
interface Drawn {
  readonly head: string;
  readonly tail: string;
}
