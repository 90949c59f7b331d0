import type { Token } from 'node-llama-cpp';
import type { ChatTemplate } from '../../../chat/template/chatTemplate.ts';
import type { Prompt } from '../../../chat/dialog.ts';
import { createYielder } from '../../../base/eventLoop.ts';
import type { Tokenizer } from '../../decoding/tokenizer.ts';
import { promptParts, TemplateRenderer, type RenderedPrompt } from '../../decoding/templateRenderer.ts';

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
  readonly #template: TemplateRenderer;
  readonly #tokenizer: Tokenizer;

  constructor(chatTemplate: ChatTemplate, tokenizer: Tokenizer) {
    this.#template = new TemplateRenderer(chatTemplate, tokenizer.controlTokens);
    this.#tokenizer = tokenizer;
  }

  /** @throws Fault INFERENCE_FAILED when the chat template refuses the messages. */
  render(prompt: Prompt): RenderedPrompt {
    return this.#template.render(prompt);
  }

  /** The offsets (UTF-16 units, ascending) of the characters that are masked in a text of a message. */
  unsafeOffsets(text: string): readonly number[] {
    return this.#template.unsafeOffsets(text);
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

  *#textTokens(prompt: RenderedPrompt, from: number): Generator<readonly Token[]> {
    for (const { text, withControl } of promptParts(prompt, from))
      yield* this.#tokenizer.tokenizeInPieces(text, withControl);
  }
}
