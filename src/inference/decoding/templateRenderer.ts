import type { ChatTemplate } from '../../chat/template/chatTemplate.ts';
import { renderInput, renderOrWriteOut, type PromptInput } from '../../chat/template/renderPrompt.ts';
import type { Prompt } from '../../chat/dialog.ts';
import { Fault, describeError } from '../../protocol/fault.ts';
import type { ControlTokenMatcher, TextSpan } from './controlTokens.ts';
import { CharacterMask } from './controlTokenMask.ts';
import { mapMessageStrings, mapStrings } from './mapStrings.ts';

/** A prompt as the model's chat template renders it. Offsets are UTF-16 units of `text`. */
export interface RenderedPrompt {
  readonly text: string;
  /** Ascending offsets of characters from messages and tools at which no control string may be read. */
  readonly maskedOffsets: readonly number[];
  /** The control strings that the template itself wrote, from left to right. */
  readonly controlSpans: readonly TextSpan[];
}

/** A part of a rendered prompt that is tokenized on its own. */
export interface PromptPart {
  readonly text: string;
  /** Whether control strings in it become control tokens. */
  readonly withControl: boolean;
}

/** Renders prompts with a chat template, and masks the control strings of others. PromptRenderer describes it. */
export class TemplateRenderer {
  readonly #chatTemplate: ChatTemplate;
  readonly #controlTokens: ControlTokenMatcher;

  constructor(chatTemplate: ChatTemplate, controlTokens: ControlTokenMatcher) {
    this.#chatTemplate = chatTemplate;
    this.#controlTokens = controlTokens;
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

  /** The offsets (UTF-16 units, ascending) of the characters that are masked in a text of a message. */
  unsafeOffsets(text: string): readonly number[] {
    return this.#controlTokens.unsafeOffsets(text);
  }

  #render(input: PromptInput): RenderedPrompt {
    const mask = new CharacterMask([this.#chatTemplate.source, JSON.stringify(input)]);
    const maskedText = renderInput(this.#masked(input, mask), this.#chatTemplate);
    return {
      text: mask.unmask(maskedText),
      maskedOffsets: mask.maskedOffsets(maskedText),
      controlSpans: this.#controlTokens.find(maskedText),
    };
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

/**
 * The parts of a prompt that are tokenized one by one, by the table of PromptRenderer.
 * @param from where to start: at the `start` of one of its control spans.
 */
export function* promptParts({ text, maskedOffsets, controlSpans }: RenderedPrompt, from = 0): Generator<PromptPart> {
  let tokenizedEnd = from;
  let maskIndex = 0;
  for (const { start, end } of textBetweenControls(controlSpans, from, text.length)) {
    while ((maskedOffsets[maskIndex] ?? Infinity) < start) maskIndex++;
    const hasMask = (maskedOffsets[maskIndex] ?? Infinity) < end;
    if (!hasMask) continue;
    yield { text: text.slice(tokenizedEnd, start), withControl: true };
    yield { text: text.slice(start, end), withControl: false };
    tokenizedEnd = end;
  }
  yield { text: text.slice(tokenizedEnd), withControl: true };
}

/** The text from an offset to the end, without the control spans: one span, possibly empty, before, between and after them. */
function textBetweenControls(controlSpans: readonly TextSpan[], from: number, end: number): readonly TextSpan[] {
  const controls = controlSpans.filter(({ start }) => start >= from);
  const starts = [from, ...controls.map((control) => control.end)];
  const ends = [...controls.map((control) => control.start), end];
  return starts.map((start, index) => ({ start, end: ends[index] ?? end }));
}
