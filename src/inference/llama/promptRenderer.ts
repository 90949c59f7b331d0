import type { Token } from 'node-llama-cpp';
import type { ChatTemplate } from '../../chat/template/chatTemplate.ts';
import type { Message, Prompt } from '../../chat/dialog.ts';
import { createYielder } from '../../base/eventLoop.ts';
import type { Tokenizer } from '../decoding/tokenizer.ts';
import type { PromptTokenizer, RenderedPrompt } from '../decoding/templateRenderer.ts';
import { promptParts, TemplateRenderer } from '../decoding/templateRenderer.ts';
import { commonPrefixLength } from '../../base/commonPrefix.ts';
import { Fault } from '../../protocol/fault.ts';

/**
 * Renders prompts with the chat template and tokenizes them, protected against special token injection: a control
 * string that a user, a document or a tool wrote (`<|im_end|>`) never becomes a control token, so it cannot end a
 * message or begin a system message.
 *
 * 1. `ControlTokenMatcher.unsafeOffsets` finds, in each string of the messages and tools, the offsets at which a control
 *    string starts, or could start once the template has written text before and after it.
 * 2. `characterMask` replaces the characters there with private-use characters that occur nowhere else.
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
export class PromptRenderer extends TemplateRenderer implements PromptTokenizer {
  readonly vocabulary: Tokenizer;

  constructor(chatTemplate: ChatTemplate, tokenizer: Tokenizer) {
    super(chatTemplate, tokenizer.controlTokens);
    this.vocabulary = tokenizer;
  }

  /** The tokens of a text that continues another one. */
  continuation(text: string, withControl: boolean): readonly Token[] {
    return this.vocabulary.tokenizeContinuation(text, withControl);
  }

  /** The text of tokens that continue others. */
  spell(tokens: readonly Token[]): string {
    return this.vocabulary.detokenize(tokens, [], false);
  }

  /** The tokens of a prompt, or of its rest. @param from the `start` of one of its control spans. */
  tokens(prompt: RenderedPrompt, from = 0): Token[] {
    return [...this.#pieces(prompt, from)].flat();
  }

  /** As `tokens`; yields to the event loop meanwhile. @param atMost tokens after which the rest is left out. */
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

  *#pieces(prompt: RenderedPrompt, from: number): Generator<readonly Token[]> {
    let missingBos = from === 0 ? this.vocabulary.bosToken : undefined;
    for (const { text, withControl } of promptParts(prompt, from)) {
      for (const tokens of this.vocabulary.tokenizeInPieces(text, withControl)) {
        if (missingBos !== undefined && tokens.length > 0) {
          if (tokens[0] !== missingBos) yield [missingBos];
          missingBos = undefined;
        }
        yield tokens;
      }
    }
    if (missingBos !== undefined) yield [missingBos];
  }
}

/** Where later prompts of the same node will differ from a prompt, in tokens from its start; 0 = not known. */
export type PromptBoundaries = Awaited<ReturnType<typeof findBoundaries>>;

/** Finds boundaries in a prompt by others that differ there. @param tokens of `prompt`. @param tokenize the others. */
export async function findBoundaries(
  prompt: Prompt,
  tokens: readonly Token[],
  renderer: PromptRenderer,
  tokenize: (rendered: RenderedPrompt) => Promise<readonly Token[]>,
) {
  const { messages } = prompt;
  const headEnd = messages.findIndex(({ role }) => role !== 'system');
  const interactionEnd = messages.findLastIndex(({ role, toolExchange }) => role === 'assistant' && !toolExchange) + 1;
  // Calls and results of a turn are in the prompts of this turn only.
  const exchangeStart = messages.findIndex(({ toolExchange }, index) => index >= interactionEnd && toolExchange);
  const messageEnd = exchangeStart < 0 ? messages.length : exchangeStart;
  const sharedWith = async (others: readonly Message[]): Promise<number> => {
    try {
      return commonPrefixLength(tokens, await tokenize(renderer.render({ ...prompt, messages: others })));
    } catch (error) {
      // The chat template refuses other messages than those of the prompt.
      if (error instanceof Fault) return 0;
      throw error;
    }
  };
  const cutAt = (end: number): readonly Message[] => [...messages.slice(0, end), otherMessage(messages[end])];
  return {
    /** The end of the system message and the tools: the whole dialog may change, for example when it is truncated. */
    head: headEnd < 0 ? 0 : await sharedWith(cutAt(headEnd)),
    /** The end of the last finished interaction: the message after it may not stay, or be rendered in another way. */
    interaction: await sharedWith(cutAt(Math.max(interactionEnd, headEnd))),
    /** The end of the message: the reply may be another one than the generated text. */
    message: await sharedWith([...messages.slice(0, messageEnd), reply, next]),
  };
}

const reply: Message = { role: 'assistant', text: 'A' };
const next: Message = { role: 'user', text: 'A' };

const otherMessage = (message: Message | undefined): Message => ({
  role: 'user',
  text: message?.text.trimStart().startsWith('A') ? 'B' : 'A',
});
