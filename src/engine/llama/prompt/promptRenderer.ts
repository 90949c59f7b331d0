import type { Token } from 'node-llama-cpp';
import { insertTools, type Message, type Prompt, type ToolDefinition } from '../../../dialog.ts';
import { Fault, describeError } from '../../../fault.ts';
import type { TextSpan } from '../tokenizer/controlTokens.ts';
import { CharacterMask } from './controlTokenMask.ts';
import { detectToolFormat } from '../tokenizer/detectToolFormat.ts';
import type { ChatTemplate } from './chatTemplate.ts';
import { mapStrings, mapMessageStrings } from './mapStrings.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';

/** A prompt as the model's chat template writes it. */
export interface RenderedPrompt {
  readonly text: string;
  /** Where letters of the messages and tools stand that must not be read as the beginning of a control string, ascending. */
  readonly maskedOffsets: readonly number[];
  /** The control strings of the template's frame, from left to right. */
  readonly controlSpans: readonly TextSpan[];
}

/** What a chat template is to write. */
interface PromptContent {
  readonly messages: readonly Message[];
  readonly tools?: readonly ToolDefinition[];
  readonly thinking?: boolean;
}

/** Turns prompts into tokens: the frame's control strings become control tokens, those in messages and tools never do. */
export class PromptRenderer {
  readonly #chatTemplate: ChatTemplate;
  readonly #tokenizer: Tokenizer;
  readonly #toolFormat: string | undefined;

  constructor(chatTemplate: ChatTemplate, tokenizer: Tokenizer) {
    this.#chatTemplate = chatTemplate;
    this.#tokenizer = tokenizer;
    this.#toolFormat = detectToolFormat(chatTemplate.source, tokenizer);
  }

  /** @throws Fault INFERENCE_FAILED when the chat template refuses the messages. */
  render(prompt: Prompt): RenderedPrompt {
    const content = this.#content(prompt);
    const disguise = new CharacterMask([this.#chatTemplate.source, JSON.stringify(content)]);
    const written = this.#renderText(this.#masked(content, disguise));
    return {
      text: disguise.unmask(written),
      maskedOffsets: disguise.maskedOffsets(written),
      controlSpans: this.#tokenizer.controlTokens.find(written),
    };
  }

  /** Where letters of a message's text are masked. */
  unsafeOffsets(text: string): readonly number[] {
    return this.#tokenizer.controlTokens.unsafeOffsets(text);
  }

  /**
   * The tokens of a prompt, or of what stands behind one of its frame's control strings (that included). They are the
   * official ones of the whole prompt, but that a stretch of text with masked letters is read as plain text.
   */
  tokens({ text, maskedOffsets: masked, controlSpans: frame }: RenderedPrompt, from = 0): Token[] {
    const tokens: Token[] = [];
    let official = from;
    let next = 0;
    for (const { start, end } of textBetweenControls(frame, from, text.length)) {
      while ((masked[next] ?? Infinity) < start) next++;
      if ((masked[next] ?? Infinity) >= end) continue;
      tokens.push(
        ...this.#tokenizer.tokenizeWithControl(text.slice(official, start)),
        ...this.#tokenizer.tokenizePlain(text.slice(start, end)),
      );
      official = end;
    }
    tokens.push(...this.#tokenizer.tokenizeWithControl(text.slice(official)));
    const { bosToken: first } = this.#tokenizer;
    return from > 0 || first === undefined || tokens[0] === first ? tokens : [first, ...tokens];
  }

  // The model's own template has the last word on where tools stand and how they are written, if it has one at all.
  #content(prompt: Prompt): PromptContent {
    const { messages, tools, thinking } = prompt;
    const how = thinking === undefined ? {} : { thinking };
    const { normalizeMessages: fit, supportsTools } = this.#chatTemplate;
    if (!supportsTools || (tools && tools.format !== this.#toolFormat)) {
      return { ...how, messages: fit(insertTools(prompt).map(({ role, text }) => ({ role, text }))) };
    }
    const definitions = tools?.definitions ?? [];
    return { ...how, messages: fit(messages), ...(definitions.length > 0 && { tools: definitions }) };
  }

  #masked({ messages, tools, ...how }: PromptContent, disguise: CharacterMask): PromptContent {
    const hide = (text: string): string => {
      const places = this.unsafeOffsets(text);
      return places.length === 0 ? text : disguise.mask(text, places);
    };
    return {
      ...how,
      messages: messages.map((message) => mapMessageStrings(message, hide)),
      ...(tools && { tools: mapStrings(tools, hide) }),
    };
  }

  #renderText({ messages, tools, thinking }: PromptContent): string {
    try {
      return this.#chatTemplate.render(messages, tools, thinking);
    } catch (error) {
      const why = describeError(error);
      throw new Fault('INFERENCE_FAILED', `the model's chat template refuses this prompt: ${why}`, { cause: error });
    }
  }
}

/** What stands between the control strings of a frame. */
function textBetweenControls(frame: readonly TextSpan[], from: number, end: number): readonly TextSpan[] {
  const behind = frame.filter(({ start }) => start >= from);
  const starts = [from, ...behind.map((control) => control.end)];
  const ends = [...behind.map((control) => control.start), end];
  return starts.map((start, index) => ({ start, end: ends[index] ?? end }));
}
