import type { Dialog, Interaction, Message, Prompt } from '../dialog.ts';
import type { Model } from '../engine/engine.ts';
import { ContextWindow } from './contextWindow.ts';

/** What one node contributes to its prompt. */
export interface PromptInputs {
  readonly dialog: Dialog;
  /** The system message; "" = none. */
  readonly system: string;
  /** The current message, with a template at its placement: never cut. */
  readonly current: readonly Message[];
  /** Tokens that the answer may take. */
  readonly maxTokens: number;
}

/** A prompt, and how many interactions are no longer in it. */
export interface Projected {
  readonly prompt: Prompt;
  readonly dropped: number;
}

/** Dialog to prompt for one inference node; it remembers where it last cut. */
export interface Projection {
  /** @throws Fault PROMPT_TOO_LARGE when what is never cut does not fit. */
  project(contribution: PromptInputs): Promise<Projected>;
}

/** Messages of a prompt, fitted to the context: what the projections have in common. */
export class MessageBudget {
  readonly #window: ContextWindow;

  constructor(model: Model) {
    this.#window = new ContextWindow(model);
  }

  /** @param beside tokens of what the prompt holds beside its messages. */
  async messages(
    { dialog, system, current, maxTokens }: PromptInputs,
    beside = 0,
  ): Promise<{ readonly messages: readonly Message[]; readonly dropped: number }> {
    const head: readonly Message[] = system === '' ? [] : [{ role: 'system', text: system }];
    const texts = [...head, ...current].map(({ text }) => text);
    const { visible, dropped } = await this.#window.fit(
      dialog.interactions.filter(isAnswered),
      { texts, tokens: beside },
      maxTokens,
    );
    return { messages: [...head, ...visible.flatMap(toMessages), ...current], dropped };
  }
}

// A turn that failed before it said a word, such as one whose message did not fit, would only push the others out.
const isAnswered = ({ mark, assistant }: Interaction): boolean => mark !== 'failed' || assistant !== '';

function toMessages({ user, assistant }: Interaction): Message[] {
  const question: Message = { role: 'user', text: user };
  return assistant === '' ? [question] : [question, { role: 'assistant', text: assistant }];
}
