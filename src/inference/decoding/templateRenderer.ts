import type { Token } from 'node-llama-cpp';
import type { Message, Prompt } from '../../chat/dialog.ts';
import { describeError, Fault } from '../../protocol/fault.ts';
import type { ChatTemplate } from '../../chat/template/chatTemplate.ts';
import { type PromptInput, renderInput, renderOrWriteOut } from '../../chat/template/renderPrompt.ts';
import type { ControlTokenMatcher, TextSpan } from './controlTokens.ts';

/** A prompt as the model's chat template renders it. Offsets are UTF-16 units of `text`. */
export interface RenderedPrompt {
  readonly text: string;
  /** Ascending offsets of characters from messages and tools at which no control string may be read. */
  readonly maskedOffsets: readonly number[];
  /** The control strings that the template itself wrote, from left to right. */
  readonly controlSpans: readonly TextSpan[];
}

/** What a sequence knows of its model's chat template and vocabulary: both are here, or the vocabulary is on a server. */
export interface PromptTokenizer extends Pick<TemplateRenderer, 'render' | 'unsafeOffsets'> {
  readonly vocabulary: {
    readonly bosToken: Token | undefined;
    readonly isControl: (token: Token) => boolean;
    readonly controlSpelling: (token: Token) => string;
    readonly controlToken: (spelling: string) => Token | undefined;
  };
  /** The tokens of a prompt, or of its rest from the `start` of one of its control spans on. */
  readonly tokensYielding: (prompt: RenderedPrompt, from?: number, atMost?: number) => Promise<Token[]>;
  /** The tokens of a text that continues another one. */
  readonly continuation: (text: string, withControl: boolean) => Promise<readonly Token[]> | readonly Token[];
  /** The text of tokens that continue others. */
  readonly spell: (tokens: readonly Token[]) => Promise<string> | string;
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
    const mask = characterMask([this.#chatTemplate.source, JSON.stringify(input)]);
    const maskedText = renderInput(this.#masked(input, mask), this.#chatTemplate);
    return {
      text: mask.unmask(maskedText),
      maskedOffsets: mask.maskedOffsets(maskedText),
      controlSpans: this.#controlTokens.find(maskedText),
    };
  }

  #masked({ messages, tools, ...rest }: PromptInput, mask: ReturnType<typeof characterMask>): PromptInput {
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
 * The parts of a prompt that are tokenized one by one, by the table of PromptRenderer, and whether control strings in each
 * become control tokens.
 * @param from where to start: at the `start` of one of its control spans.
 */
export function* promptParts(
  { text, maskedOffsets, controlSpans }: RenderedPrompt,
  from = 0,
): Generator<{ readonly text: string; readonly withControl: boolean }> {
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

/**
 * Masks characters of messages with private-use characters (U+E000 to U+F8FF) while a chat template renders them, and
 * restores them in the output. Second step of the protection against special token injection; PromptRenderer describes
 * all of it. A mask and the character it hides are one UTF-16 unit each, so offsets stay valid.
 * @param texts everything that the template can output: only characters that do not occur in them become masks.
 */
export function characterMask(texts: readonly string[]) {
  const unusedCharacters = unusedPrivateCharacters(texts);
  const maskByCharacter = new Map<string, string>();
  const characterByMask = new Map<string, string>();
  const maskFor = (character: string): string => {
    const known = maskByCharacter.get(character);
    if (known !== undefined) return known;
    const next = unusedCharacters.next();
    if (next.done)
      throw new Fault('INFERENCE_FAILED', 'the messages leave no private-use character unused: remove some');
    maskByCharacter.set(character, next.value);
    characterByMask.set(next.value, character);
    return next.value;
  };
  return {
    /**
     * A text with the UTF-16 units at some offsets masked; the same unit always gets the same mask.
     * @throws Fault INFERENCE_FAILED when the texts use all private-use characters.
     */
    mask(text: string, offsets: readonly number[]): string {
      const units = text.split('');
      for (const offset of offsets) units[offset] = maskFor(text.charAt(offset));
      return units.join('');
    },
    /** The offsets of the masks in a text, ascending. */
    maskedOffsets(text: string): readonly number[] {
      if (characterByMask.size === 0) return [];
      const candidates = [...text.matchAll(privateUsePattern)];
      return candidates.filter(([unit]) => characterByMask.has(unit)).map(({ index }) => index);
    },
    /** A text with each mask replaced by the character that it hides. */
    unmask(text: string): string {
      if (characterByMask.size === 0) return text;
      return text.replace(privateUsePattern, (unit) => characterByMask.get(unit) ?? unit);
    },
  };
}

const privateUsePattern = /[\uE000-\uF8FF]/g;

function* unusedPrivateCharacters(texts: readonly string[]): Generator<string, undefined> {
  const used = new Set(texts.flatMap((text) => text.match(privateUsePattern) ?? []));
  for (let code = 0xe000; code <= 0xf8ff; code++) {
    const unit = String.fromCharCode(code);
    if (!used.has(unit)) yield unit;
  }
}

type MapString = (text: string) => string;

// JSON Schema's own words: chat templates compare strings with them, so a mask would change the output. They are whole
// fixed words and contain no control string.
const unmappedKeys: ReadonlySet<string> = new Set(
  'array boolean description enum function integer items name null number object parameters properties required string type'.split(
    ' ',
  ),
);

/** Plain data with each string in it mapped, keys included; JSON Schema's own words stay. */
function mapStrings<T>(value: T, mapString: MapString): T;

function mapStrings(value: unknown, mapString: MapString): unknown {
  if (typeof value === 'string') return unmappedKeys.has(value) ? value : mapString(value);
  if (Array.isArray(value)) return value.map((entry) => mapStrings<unknown>(entry, mapString));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [mapStrings(key, mapString), mapStrings<unknown>(member, mapString)]),
  );
}

function mapMessageStrings({ role, text, toolExchange }: Message, mapString: MapString): Message {
  const message = { role, text: mapString(text) };
  if (!toolExchange) return message;
  if (toolExchange.kind === 'result') {
    const { kind, callId, name, content } = toolExchange;
    return {
      ...message,
      toolExchange: { kind, callId: mapString(callId), name: mapString(name), content: mapString(content) },
    };
  }
  const calls = toolExchange.calls.map((call) => ({
    id: mapString(call.id),
    name: mapString(call.name),
    arguments: mapStrings(call.arguments, mapString),
  }));
  return { ...message, toolExchange: { kind: toolExchange.kind, text: mapString(toolExchange.text), calls } };
}
