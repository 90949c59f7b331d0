import type { Dialog, Message, Prompt } from '../../chat/dialog.ts';
import type { Model } from '../../inference/contract/engine.ts';
import { ContextWindow } from './contextWindow.ts';
import { isAnswered, toMessages } from './interactionMessages.ts';

/** What a node puts into its prompt. */
export interface PromptInputs {
  readonly dialog: Dialog;
  /** Text of the system message; "" = none. */
  readonly system: string;
  /** The user's message and a template at its placement; never dropped. */
  readonly current: readonly Message[];
  /** Largest number of tokens of the answer. */
  readonly maxTokens: number;
}

/** A prompt, and how many of the oldest interactions it leaves out. */
export interface Projected {
  readonly prompt: Prompt;
  readonly dropped: number;
}

/** Turns the dialog into the prompt of one node; it remembers where it last truncated the dialog. */
export interface Projection {
  /** @throws Fault PROMPT_TOO_LARGE when the part that is never dropped does not fit. */
  project(inputs: PromptInputs): Promise<Projected>;
}

/** Makes the messages of a prompt and drops the oldest interactions that do not fit the context window. */
export class MessageBudget {
  readonly #window: ContextWindow;

  constructor(model: Model) {
    this.#window = new ContextWindow(model);
  }

  /** @param otherTokens tokens of the prompt that are not messages. */
  async messages(
    { dialog, system, current, maxTokens }: PromptInputs,
    otherTokens = 0,
  ): Promise<{ readonly messages: readonly Message[]; readonly dropped: number }> {
    const systemMessages: readonly Message[] = system === '' ? [] : [{ role: 'system', text: system }];
    const texts = [...systemMessages, ...current].map(({ text }) => text);
    const { visible, dropped } = await this.#window.fit(
      dialog.interactions.filter(isAnswered),
      { texts, tokens: otherTokens },
      maxTokens,
    );
    return { messages: [...systemMessages, ...visible.flatMap(toMessages), ...current], dropped };
  }
}
