import type { GrammarMatcher } from '../../../chat/grammar/matcher.ts';
import { toGbnf } from '../../../chat/grammar/gbnf.ts';
import { tagsOf } from '../../../chat/replyMarks.ts';
import { Fault } from '../../../protocol/fault.ts';
import type { GenerateOptions } from '../../contract/engine.ts';
import { type DecodingModel, DecodingState } from '../../decoding/decodingState.ts';
import type { GenerationStart } from '../../decoding/sequencePrompts.ts';
import { GenerationText, type GeneratedPiece } from './generatedText.ts';
import type { RemotePrompts } from './remotePrompts.ts';

/** What a remote generation is made with. */
interface GenerationModel extends DecodingModel {
  readonly prompts: RemotePrompts;
}

/**
 * A generation on a server: its text, and its state. The server is asked for one segment after the other, in which the state is
 * the same, and each continues the tokens so far.
 */
export class Generation {
  readonly text: GenerationText;
  readonly state: DecodingState;
  readonly #model: GenerationModel;
  /** Text of the last piece, which is not added yet: forced text follows it, and both are tokenized together. */
  #ownText = '';

  constructor(options: GenerateOptions, model: GenerationModel, start: GenerationStart) {
    this.#model = model;
    this.text = new GenerationText(model.prompts, tagsOf(model.replyMarks), options);
    this.state = new DecodingState(options, model, start, this.text);
  }

  /** The grammar that the next segment has to fit, in GBNF; undefined: it is unconstrained. */
  get gbnf(): string | undefined {
    return this.state.matcher && toGbnf(this.state.matcher);
  }

  /** Appends what is not left to the model before the next segment: the end of reasoning, or of a call without room. */
  async prepareSegment(): Promise<void> {
    this.state.freeTokens += (await this.state.endReasoning()).length;
    const ownText = this.#ownText;
    this.#ownText = '';
    const { matcher } = this.state;
    if (matcher && (ownText !== '' || this.#isForced(matcher))) await this.state.force(ownText, matcher);
  }

  /** Adds a piece that the server has generated. Returns whether the segment ends with it. */
  accept(piece: GeneratedPiece): boolean {
    const { state } = this;
    if (state.matcher) return this.#acceptConstrained(piece, state.matcher, '', piece.text);
    const shown = this.text.shown(piece);
    const entry = state.enterGrammar(shown);
    if (!entry) {
      this.text.push(piece, false);
      state.freeTokens += piece.count;
      state.budget?.push(shown, piece.count);
      return state.finishReason !== undefined || state.isReasoningOver;
    }
    this.#acceptConstrained(piece, entry.matcher, entry.before, entry.inside);
    return true;
  }

  /**
   * Adds a piece inside the constrained text.
   * @param before its part before the constrained text; it ends with a trigger.
   * @param inside the rest of it.
   */
  #acceptConstrained(piece: GeneratedPiece, matcher: GrammarMatcher, before: string, inside: string): boolean {
    const { matcher: next, length } = matcher.accept(inside);
    // What follows a trigger was not bound yet. Everything else was.
    if (before === '' && length < inside.length)
      throw new Fault('INFERENCE_FAILED', `the inference server does not follow the grammar: ${notFollowed(piece)}`);
    this.state.matcher = next;
    const isForced = this.#isForced(next);
    const isKeptControl = piece.isControl && (inside === '' || matcher.allowsTag(inside));
    const isMerged = !isKeptControl && isForced && piece.tokens !== undefined;
    if (!isMerged) this.state.constrainedTokens += piece.count;
    if (isKeptControl) this.text.push(piece, true);
    else if (isMerged) this.#ownText = before + inside.slice(0, length);
    // A control token that stands for a text is that text.
    else if (piece.isControl || length < inside.length)
      this.text.push({ ...piece, text: before + inside.slice(0, length), tokens: undefined, isControl: false }, true);
    else this.text.push(piece, true);
    if (next.mustEnd) this.state.leaveGrammar();
    return isForced || next.mustEnd || this.state.finishReason !== undefined;
  }

  /**
   * Whether the text that the grammar forces is appended here. A server that is sent text makes other tokens of it where it is
   * cut, so there the model writes it, except what it cannot write: control tokens, and an end without room.
   */
  #isForced(matcher: GrammarMatcher): boolean {
    const { texts } = matcher.forcedText();
    const { isExact } = this.#model.prompts.vocabulary;
    return texts.length > 0 && (isExact || this.state.tokensLeft <= 0 || texts.some(({ control }) => control));
  }
}

const notFollowed = ({ text }: GeneratedPiece): string =>
  `it has written ${JSON.stringify(text)}; update the server, or use the model without strict`;
