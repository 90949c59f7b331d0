import type { Token } from 'node-llama-cpp';
import type { ChatTemplate } from '../../../chatTemplate/chatTemplate.ts';
import { renderInput, renderOrWriteOut, type PromptInput } from '../../../chatTemplate/renderPrompt.ts';
import type { Prompt } from '../../../dialog.ts';
import { createYielder } from '../../../eventLoop.ts';
import { Fault, describeError } from '../../../fault.ts';
import type { TextSpan } from '../tokenizer/controlTokens.ts';
import { CharacterMask } from './controlTokenMask.ts';
import { mapStrings, mapMessageStrings } from './mapStrings.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';

/** A prompt as the model's chat template renders it. Offsets are UTF-16 units of `text`. */
export interface RenderedPrompt {
  readonly text: string;
  /** Ascending offsets of characters from messages and tools at which no control string may be read. */
  readonly maskedOffsets: readonly number[];
  /** The control strings that the template itself wrote, from left to right. */
  readonly controlSpans: readonly TextSpan[];
}

/**
 * Renders prompts with the chat template and tokenizes them, protected against special token injection: a control
 * string that a user, a document or a tool wrote (`<|im_end|>`) never becomes a control token, so it cannot end a
 * message or begin a system message.
 *
 * 1. `ControlTokenMatcher.unsafeOffsets` finds, in each string of the messages and tools, the offsets at which a control
 *    string starts, or could start once the template has written text before and after it.
 * 2. `CharacterMask.mask` replaces the characters there with private-use characters that occur nowhere else.
 * 3. The chat template renders. Every control string in its output is its own (`controlSpans`), and every mask shows
 *    where unsafe text ended up (`maskedOffsets`). Then the masks are replaced by the original characters.
 * 4. `tokens` tokenizes the text between two control spans by this table:
 *
 * | part of the text                    | tokenized                                                                 |
 * | ----------------------------------- | ------------------------------------------------------------------------- |
 * | control span                        | with control tokens                                                       |
 * | text between, no masked offset      | with control tokens, in one piece with its neighbours, as llama.cpp would |
 * | text between, with a masked offset  | as plain text, on its own                                                 |
 *
 * Plain text has no control token (`Tokenizer.tokenizePlain`). A prompt without unsafe text has exactly the tokens that
 * llama.cpp gives for the rendered text.
 */
export class PromptRenderer {
  readonly #chatTemplate: ChatTemplate;
  readonly #tokenizer: Tokenizer;

  constructor(chatTemplate: ChatTemplate, tokenizer: Tokenizer) {
    this.#chatTemplate = chatTemplate;
    this.#tokenizer = tokenizer;
  }

  /** @throws Fault INFERENCE_FAILED when the chat template refuses the messages. */
  render(prompt: Prompt): RenderedPrompt {
    try {
      return renderOrWriteOut(prompt, this.#chatTemplate, (input) => this.#render(input));
    } catch (error) {
      if (error instanceof Fault) throw error;
      const why = describeError(error);
      throw new Fault('INFERENCE_FAILED', `the model's chat template refuses this prompt: ${why}`, { cause: error });
    }
  }

  #render(input: PromptInput): RenderedPrompt {
    const mask = new CharacterMask([this.#chatTemplate.source, JSON.stringify(input)]);
    const maskedText = renderInput(this.#masked(input, mask), this.#chatTemplate);
    return {
      text: mask.unmask(maskedText),
      maskedOffsets: mask.maskedOffsets(maskedText),
      controlSpans: this.#tokenizer.controlTokens.find(maskedText),
    };
  }

  /** The offsets (UTF-16 units, ascending) of the characters that are masked in a text of a message. */
  unsafeOffsets(text: string): readonly number[] {
    return this.#tokenizer.controlTokens.unsafeOffsets(text);
  }

  /**
   * The tokens of a prompt, or of its rest.
   * @param from where the rest starts: at the `start` of one of its control spans.
   */
  tokens(prompt: RenderedPrompt, from = 0): Token[] {
    return [...this.#pieces(prompt, from)].flat();
  }

  /**
   * As `tokens`; yields to the event loop meanwhile.
   * @param atMost tokens after which the rest of the prompt is left out.
   */
  async tokensYielding(prompt: RenderedPrompt, from = 0, atMost = Infinity): Promise<Token[]> {
    const yieldToOthers = createYielder();
    const pieces: (readonly Token[])[] = [];
    let count = 0;
    for (const piece of this.#pieces(prompt, from)) {
      pieces.push(piece);
      count += piece.length;
      if (count > atMost) break;
      await yieldToOthers();
    }
    return pieces.flat();
  }

  *#pieces(prompt: RenderedPrompt, from = 0): Generator<readonly Token[]> {
    const { bosToken } = this.#tokenizer;
    let isFirst = from === 0 && bosToken !== undefined;
    for (const tokens of this.#textTokens(prompt, from)) {
      if (isFirst && tokens.length === 0) continue;
      if (isFirst && bosToken !== undefined && tokens[0] !== bosToken) yield [bosToken];
      isFirst = false;
      yield tokens;
    }
    if (isFirst && bosToken !== undefined) yield [bosToken];
  }

  *#textTokens({ text, maskedOffsets, controlSpans }: RenderedPrompt, from: number): Generator<readonly Token[]> {
    let tokenizedEnd = from;
    let maskIndex = 0;
    for (const { start, end } of textBetweenControls(controlSpans, from, text.length)) {
      while ((maskedOffsets[maskIndex] ?? Infinity) < start) maskIndex++;
      const hasMask = (maskedOffsets[maskIndex] ?? Infinity) < end;
      if (!hasMask) continue;
      yield* this.#tokenizer.tokenizeInPieces(text.slice(tokenizedEnd, start), true);
      yield* this.#tokenizer.tokenizeInPieces(text.slice(start, end), false);
      tokenizedEnd = end;
    }
    yield* this.#tokenizer.tokenizeInPieces(text.slice(tokenizedEnd), true);
  }

  #masked({ messages, tools, ...rest }: PromptInput, mask: CharacterMask): PromptInput {
    const maskUnsafe = (text: string): string => {
      const offsets = this.unsafeOffsets(text);
      return offsets.length === 0 ? text : mask.mask(text, offsets);
    };
    return {
      ...rest,
      messages: messages.map((message) => mapMessageStrings(message, maskUnsafe)),
      ...(tools && { tools: mapStrings(tools, maskUnsafe) }),
    };
  }
}

/** The text from an offset to the end, without the control spans: one span, possibly empty, before, between and after them. */
function textBetweenControls(controlSpans: readonly TextSpan[], from: number, end: number): readonly TextSpan[] {
  const controls = controlSpans.filter(({ start }) => start >= from);
  const starts = [from, ...controls.map((control) => control.end)];
  const ends = [...controls.map((control) => control.start), end];
  return starts.map((start, index) => ({ start, end: ends[index] ?? end }));
}
