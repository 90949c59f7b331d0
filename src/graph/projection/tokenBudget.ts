import { resultLine } from '../../chat/tool.ts';
import type { Dialog, DialogResult, Interaction, Message } from '../../chat/dialog.ts';
import type { Model } from '../../inference/contract/engine.ts';
import { Fault } from '../../protocol/fault.ts';
import { type Summary, withSummary } from './summary.ts';

export interface PromptInputs {
  readonly dialog: Dialog;
  /** Text of the system message; "" = none. */
  readonly system: string;
  /** The user's message and a template at its placement; never dropped. */
  readonly current: readonly Message[];
  /** Largest number of tokens of the answer. */
  readonly maxTokens: number;
  /** Present for a node with a running summary: the summary as far as it is made. */
  readonly summaries?: { readonly latest: Summary | undefined };
}

/** The part of a dialog that a prompt shows. */
export interface DialogWindow {
  /** How many of the oldest interactions it leaves out. */
  readonly dropped: number;
  /** What stands for the oldest interactions; undefined: nothing does. */
  readonly summary: Summary | undefined;
  /** The interactions that are to be added to the summary: those after its last one, up to the last of those that will be dropped next. */
  readonly due: readonly Interaction[];
}

// A prompt above the limit is trimmed to this share of it. Trimming changes the prefix of the prompt and so costs a new
// prefill; this makes the next one many turns away.
const trimTarget = 0.75;

// What the next trim drops is summarised once the prompt has this share of the limit.
const summaryStart = (1 + trimTarget) / 2;

// Interactions in one prompt. A chat template renders all messages in one synchronous call.
const maxInteractions = 500;

/**
 * The token budget of a node: makes the messages of a prompt, and drops the oldest interactions that do not fit it (context
 * window truncation). The start of this window over the dialog only moves forward, and in large steps, so that the prompts
 * of consecutive turns share a prefix and the KV cache can be reused.
 */
export class TokenBudget {
  readonly #model: Model;
  readonly #tokens = new WeakMap<Interaction, number>();
  #trimmed = 0;
  #lastTrimmed: Interaction | undefined;
  /** The summary that prompts have. It changes only where the window moves. */
  #summary: Summary | undefined;

  constructor(model: Model) {
    this.#model = model;
  }

  /**
   * The messages of a prompt: of the dialog the newest interactions, at most 500, that fit in addition to what is never dropped.
   * At most a quarter of the context is reserved for the answer.
   * @param otherTokens tokens of the prompt that are not messages.
   * @throws Fault PROMPT_TOO_LARGE with the numbers, when what is never dropped does not fit.
   */
  async messages(
    { dialog, system, current, maxTokens, summaries }: PromptInputs,
    otherTokens = 0,
  ): Promise<DialogWindow & { readonly messages: readonly Message[] }> {
    const interactions = dialog.interactions.filter(isAnswered);
    const texts = [...(system === '' ? [] : [system]), ...current.map(({ text }) => text)];
    const { contextSize } = this.#model;
    const limit = contextSize - Math.min(maxTokens, Math.floor(contextSize / 4));
    // A token of any vocabulary has fewer characters than this, so texts that are far too long need not be tokenized.
    const characters = texts.reduce((sum, text) => sum + text.length, 0);
    if (characters > contextSize * maxTokenCharacters) throw tooLarge(`${characters} characters`, limit, contextSize);
    const fixedTokens = this.#model.overhead.prompt + otherTokens + (await this.#count(texts));
    // Above the context size, the model may have stopped counting.
    const size = fixedTokens > contextSize ? `more than ${contextSize} tokens` : `${fixedTokens} tokens`;
    if (fixedTokens > limit) throw tooLarge(size, limit, contextSize);
    // A dialog that was cleared no longer has the interaction that was trimmed last.
    if (interactions[this.#trimmed - 1] !== this.#lastTrimmed) this.#trimmed = 0;
    const latest = summaries?.latest;
    const covered = latest?.last ? interactions.lastIndexOf(latest.last) + 1 : 0;
    const { start, summary, tokens } = await this.#move(interactions, { fixedTokens, limit, latest, covered });
    this.#trimmed = start;
    this.#lastTrimmed = interactions[start - 1];
    const due = summaries ? interactions.slice(covered, await this.#nextStart(interactions, tokens, limit)) : [];
    const head = summary ? withSummary(system, summary.text) : system;
    const messages: readonly Message[] = [
      ...(head === '' ? [] : [{ role: 'system', text: head } as const]),
      ...interactions.slice(start).flatMap(toMessages),
      ...current,
    ];
    return { messages, dropped: start, summary, due };
  }

  /** Where the window starts, the summary that the prompt has, and the tokens of the prompt without the dialog. */
  async #move(
    interactions: readonly Interaction[],
    { fixedTokens, limit, latest, covered }: WindowInputs,
  ): Promise<{ readonly start: number; readonly summary: Summary | undefined; readonly tokens: number }> {
    if (!latest) this.#summary = undefined;
    const fitted = async (summary: Summary | undefined) => {
      const tokens = fixedTokens + (summary ? await this.#count([withSummary('', summary.text)]) : 0);
      // A message may leave no room for it.
      return tokens > limit ? { summary: undefined, tokens: fixedTokens } : { summary, tokens };
    };
    const current = await fitted(this.#summary);
    const start = await this.#findStart(interactions, current.tokens, limit);
    // What the client has cut off a saved dialog is nowhere else.
    const isOnlyTrace = latest && !this.#summary && latest.interactions > covered;
    if (!latest || latest === this.#summary || (start === this.#trimmed && !isOnlyTrace)) return { start, ...current };
    this.#summary = latest;
    const next = await fitted(latest);
    if (!next.summary) return { start, ...next };
    const visible = await this.#tokensOf(interactions.slice(covered));
    // The window moves to the interactions that were summarised for this, if that is enough.
    if (covered >= this.#trimmed && next.tokens + visible <= limit && interactions.length - covered <= maxInteractions)
      return { start: covered, ...next };
    return { start: await this.#findStart(interactions, next.tokens, limit), ...next };
  }

  /** Where the window will start after its next move; where it starts now, as long as that is far away. */
  async #nextStart(interactions: readonly Interaction[], fixedTokens: number, limit: number): Promise<number> {
    const visible = interactions.slice(this.#trimmed);
    const total = fixedTokens + (await this.#tokensOf(visible));
    if (total <= summaryStart * limit && visible.length <= summaryStart * maxInteractions) return this.#trimmed;
    let [count, tokens] = [0, 0];
    for (const interaction of visible.slice(0, -1)) {
      if (tokens >= (1 - trimTarget) * limit || count >= (1 - trimTarget) * maxInteractions) break;
      tokens += await this.#size(interaction);
      count++;
    }
    return this.#trimmed + count;
  }

  /** The index of the oldest interaction that is kept. Counts from the newest on, no further than the limit. */
  async #findStart(interactions: readonly Interaction[], fixedTokens: number, limit: number): Promise<number> {
    let total = fixedTokens;
    let trimmedStart = interactions.length;
    for (let index = interactions.length - 1; index >= this.#trimmed; index--) {
      const interaction = interactions[index];
      if (interaction) total += await this.#size(interaction);
      const count = interactions.length - index;
      if (total > limit || count > maxInteractions) return trimmedStart;
      if (total <= trimTarget * limit && count <= trimTarget * maxInteractions) trimmedStart = index;
    }
    return this.#trimmed;
  }

  /** Tokens of an interaction, counted once. */
  async #size(interaction: Interaction): Promise<number> {
    const known = this.#tokens.get(interaction);
    if (known !== undefined) return known;
    const size = await this.#count(toMessages(interaction).map(({ text }) => text));
    this.#tokens.set(interaction, size);
    return size;
  }

  async #tokensOf(interactions: readonly Interaction[]): Promise<number> {
    let total = 0;
    for (const interaction of interactions) total += await this.#size(interaction);
    return total;
  }

  async #count(texts: readonly string[]): Promise<number> {
    const counts = await this.#model.count(texts);
    return counts.reduce((sum, count) => sum + count + this.#model.overhead.message, 0);
  }
}

interface WindowInputs {
  /** Tokens of what is never dropped, without a summary. */
  readonly fixedTokens: number;
  readonly limit: number;
  readonly latest: Summary | undefined;
  /** How many interactions of the dialog the latest summary stands for. */
  readonly covered: number;
}

const maxTokenCharacters = 256;

const tooLarge = (size: string, limit: number, contextSize: number): Fault =>
  new Fault(
    'PROMPT_TOO_LARGE',
    `system prompt, tools and message take ${size}, and ${limit} tokens of the context's ${contextSize} are free for them; shorten them or choose a larger context_size`,
  );

/** Whether a prompt shows it: an open question would be answered again; what people talked about would not. */
const isAnswered = ({ user, assistant, spoken = '', messages, mark }: Interaction): boolean =>
  messages !== undefined || assistant !== '' || spoken !== '' || (mark === 'recorded' && user !== '');

/** The messages that prompts have of an interaction. */
export function toMessages(interaction: Interaction): readonly Message[] {
  const { user, assistant, prompted, spoken, results = [], messages } = interaction;
  if (messages) return messages;
  const answer = prompted ?? (assistant || (spoken ?? ''));
  return [
    // What was appended to the dialog may have no message of the user, or no answer.
    ...(user === '' && answer !== '' ? [] : [{ role: 'user', text: user } as const]),
    ...results.map((result) => ({ role: 'system', text: dialogResultLine(result) }) as const),
    ...(answer === '' ? [] : [{ role: 'assistant', text: answer } as const]),
  ];
}

/** A result of an earlier turn as a plain line: never as a call, because models imitate the calls that they see. */
const dialogResultLine = ({ name, arguments_json, ok, content }: DialogResult): string =>
  resultLine({ name: arguments_json === '{}' ? name : `${name} ${arguments_json}`, ok, content });
