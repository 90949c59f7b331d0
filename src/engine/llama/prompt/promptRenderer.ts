import type { Token } from 'node-llama-cpp';
import { weave, type Message, type Prompt, type ToolDefinition } from '../../../dialog.ts';
import { Fault } from '../../../fault.ts';
import type { ControlString } from '../tokenizer/controlTokens.ts';
import { Disguise } from './controlTokenMask.ts';
import { detectFormat } from '../tokenizer/detectToolFormat.ts';
import type { Layout } from './chatTemplate.ts';
import { rewordedData, rewordedMessage } from './mapStrings.ts';
import type { Vocabulary } from '../tokenizer/tokenizer.ts';

/** A prompt as the model's chat template writes it. */
export interface Rendered {
  readonly text: string;
  /** Where letters of the messages and tools stand that must not be read as the beginning of a control string, ascending. */
  readonly masked: readonly number[];
  /** The control strings of the template's frame, from left to right. */
  readonly frame: readonly ControlString[];
}

/** What a chat template is to write. */
interface Content {
  readonly messages: readonly Message[];
  readonly tools?: readonly ToolDefinition[];
  readonly thinking?: boolean;
}

/** Turns prompts into tokens: the frame's control strings become control tokens, those in messages and tools never do. */
export class PromptTemplate {
  readonly #layout: Layout;
  readonly #vocabulary: Vocabulary;
  readonly #toolFormat: string | undefined;

  constructor(layout: Layout, vocabulary: Vocabulary) {
    this.#layout = layout;
    this.#vocabulary = vocabulary;
    this.#toolFormat = detectFormat(layout.source, vocabulary);
  }

  /** @throws Fault INFERENCE_FAILED when the chat template refuses the messages. */
  render(prompt: Prompt): Rendered {
    const content = this.#content(prompt);
    const disguise = new Disguise([this.#layout.source, JSON.stringify(content)]);
    const written = this.#write(this.#disguised(content, disguise));
    return {
      text: disguise.lifted(written),
      masked: disguise.found(written),
      frame: this.#vocabulary.controlStrings.find(written),
    };
  }

  /** Where letters of a message's text are masked. */
  masks(text: string): readonly number[] {
    return this.#vocabulary.controlStrings.hazards(text);
  }

  /**
   * The tokens of a prompt, or of what stands behind one of its frame's control strings (that included). They are the
   * official ones of the whole prompt, but that a stretch of text with masked letters is read as plain text.
   */
  tokens({ text, masked, frame }: Rendered, from = 0): Token[] {
    const tokens: Token[] = [];
    let official = from;
    let next = 0;
    for (const { start, end } of stretches(frame, from, text.length)) {
      while ((masked[next] ?? Infinity) < start) next++;
      if ((masked[next] ?? Infinity) >= end) continue;
      tokens.push(
        ...this.#vocabulary.framed(text.slice(official, start)),
        ...this.#vocabulary.plain(text.slice(start, end)),
      );
      official = end;
    }
    tokens.push(...this.#vocabulary.framed(text.slice(official)));
    const { first } = this.#vocabulary;
    return from > 0 || first === undefined || tokens[0] === first ? tokens : [first, ...tokens];
  }

  // The model's own template has the last word on where tools stand and how they are written, if it has one at all.
  #content(prompt: Prompt): Content {
    const { messages, tools, thinking } = prompt;
    const how = thinking === undefined ? {} : { thinking };
    const { fit, knowsTools } = this.#layout;
    if (!knowsTools || (tools && tools.format !== this.#toolFormat)) {
      return { ...how, messages: fit(weave(prompt).map(({ role, text }) => ({ role, text }))) };
    }
    const definitions = tools?.definitions ?? [];
    return { ...how, messages: fit(messages), ...(definitions.length > 0 && { tools: definitions }) };
  }

  #disguised({ messages, tools, ...how }: Content, disguise: Disguise): Content {
    const hide = (text: string): string => {
      const places = this.masks(text);
      return places.length === 0 ? text : disguise.over(text, places);
    };
    return {
      ...how,
      messages: messages.map((message) => rewordedMessage(message, hide)),
      ...(tools && { tools: rewordedData(tools, hide) }),
    };
  }

  #write({ messages, tools, thinking }: Content): string {
    try {
      return this.#layout.render(messages, tools, thinking);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new Fault('INFERENCE_FAILED', `the model's chat template refuses this prompt: ${why}`, { cause: error });
    }
  }
}

/** What stands between the control strings of a frame. */
function stretches(frame: readonly ControlString[], from: number, end: number): readonly ControlString[] {
  const behind = frame.filter(({ start }) => start >= from);
  const starts = [from, ...behind.map((control) => control.end)];
  const ends = [...behind.map((control) => control.start), end];
  return starts.map((start, index) => ({ start, end: ends[index] ?? end }));
}
