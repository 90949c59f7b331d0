import type { GrammarMatcher } from '../../../chat/grammar/matcher.ts';
import { toGbnf } from '../../../chat/grammar/gbnf.ts';
import { tagsOf } from '../../../chat/replyMarks.ts';
import { Fault } from '../../../protocol/fault.ts';
import type { Token } from '../../decoding/tokenizer.ts';
import type { GenerateOptions } from '../../contract/engine.ts';
import { type DecodingModel, DecodingState } from '../../decoding/decodingState.ts';
import type { GenerationStart } from '../../decoding/sequencePrompts.ts';
import { openChoice, type OpenChoice } from '../../decoding/tokenChoices.ts';
import { GenerationText, type GeneratedPiece } from './generatedText.ts';
import type { RemotePrompts } from './remotePrompts.ts';

interface GenerationModel extends DecodingModel {
  readonly prompts: RemotePrompts;
}

/** A generation: its text and its state. Each segment has one state, and continues the tokens so far. */
export class Generation {
  readonly text: GenerationText;
  readonly state: DecodingState;
  /** What of the text the model has chosen; undefined: it is not asked for, or not known of all. */
  choices: OpenChoice[] | undefined;
  readonly #model: GenerationModel;
  /** Text of the last piece, which is not added yet: forced text follows it, and both are tokenized together. */
  #ownText = '';

  constructor(options: GenerateOptions, model: GenerationModel, start: GenerationStart) {
    this.#model = model;
    this.text = new GenerationText(model.prompts, tagsOf(model.replyMarks), options);
    this.state = new DecodingState(options, model, start, this.text);
    this.choices = options.choices ? [] : undefined;
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
    this.#recordChoice(piece);
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

  #recordChoice(piece: GeneratedPiece): void {
    const { chosen } = piece;
    if (!chosen && piece.text !== '') this.choices = undefined;
    if (!chosen || !this.choices) return;
    const { matcher } = this.state;
    const { vocabulary } = this.#model.prompts;
    const allows = (token: Token): boolean => {
      const text = vocabulary.text([token]);
      // What is not known may be allowed.
      if (text === undefined) return true;
      if (vocabulary.isControl(token)) return matcher?.allowsTag(text) === true;
      return text !== '' && matcher?.accept(text).length === text.length;
    };
    const candidates = new Map([...chosen.logprobs].map(([token, logprob]) => [token as Token, Math.exp(logprob)]));
    const start = this.text.decoded.length + this.#ownText.length;
    const end = start + Math.max(1, this.text.shown(piece).length);
    const textOf = (token: Token): string => vocabulary.text([token]) ?? '';
    this.choices.push({ start, end, ...openChoice(candidates, chosen.token, textOf, matcher && allows) });
  }

  /** Adds a piece of the constrained text. @param before its part up to the trigger. @param inside the rest. */
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
