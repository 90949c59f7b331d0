import { LruCache } from '../../../base/lruCache.ts';
import { separator } from '../../decoding/controlTokens.ts';
import type { Token } from '../../decoding/tokenizer.ts';
import type { ChatTemplate } from '../../../chat/template/chatTemplate.ts';
import type { SamplingParams } from '../../contract/samplingParams.ts';
import { sumBiases } from '../../decoding/logitBias.ts';
import type { PromptTokenizer, RenderedPrompt } from '../../decoding/templateRenderer.ts';
import { promptParts, TemplateRenderer } from '../../decoding/templateRenderer.ts';
import type { InferenceServer } from '../inferenceServer.ts';
import type { Vocabulary } from '../vocabulary.ts';

export type RemoteTokenizer = Pick<InferenceServer, 'tokenize' | 'detokenize'>;

/** UTF-16 units of all texts whose tokens are kept. */
const maxKeptLength = 2_000_000;

/**
 * Renders prompts here, and has a server tokenize them: the frame of the prompt with special tokens on, and text with a control
 * string that is not the template's with special tokens off, as the llama.cpp engine does (see its PromptRenderer).
 */
export class RemotePrompts extends TemplateRenderer implements PromptTokenizer {
  readonly vocabulary: Vocabulary;
  readonly #tokenizer: RemoteTokenizer;
  readonly #signal: AbortSignal;
  readonly #kept = new LruCache<readonly Token[]>({ maxKeyLength: maxKeptLength });

  /** @param signal ends all requests. */
  constructor(chatTemplate: ChatTemplate, vocabulary: Vocabulary, tokenizer: RemoteTokenizer, signal: AbortSignal) {
    super(chatTemplate, vocabulary.controlTokens);
    this.vocabulary = vocabulary;
    this.#tokenizer = tokenizer;
    this.#signal = signal;
  }

  /** The tokens of a prompt, or of its rest. @param from the `start` of one of its control spans. */
  async tokensYielding(prompt: RenderedPrompt, from = 0): Promise<Token[]> {
    const { bosToken } = this.vocabulary;
    const tokens: Token[] = [];
    for (const { text, withControl } of promptParts(prompt, from)) {
      if (text === '') continue;
      const isFirst = from === 0 && tokens.length === 0;
      const more = await (withControl ? this.#tokens(text, true, !isFirst) : this.plainTokens(text, !isFirst));
      for (const token of more) tokens.push(token);
    }
    if (from === 0 && bosToken !== undefined && tokens[0] !== bosToken) tokens.unshift(bosToken);
    return tokens;
  }

  /** The tokens of a text after a control token. @param withControl whether its control strings become tokens. */
  continuation(text: string, withControl: boolean): Promise<readonly Token[]> {
    return withControl ? this.#tokens(text, true, true) : this.plainTokens(text, true);
  }

  /** What is added to the logits of tokens. @param biases of texts; false = forbidden. */
  async biases(biases: SamplingParams['logit_bias']): Promise<ReadonlyMap<Token, number>> {
    const all = Object.entries(biases).map(async ([text, bias]) => [await this.plainTokens(text, true), bias] as const);
    return sumBiases(await Promise.all(all));
  }

  /** The tokens of a text without control tokens, whatever it says. */
  async plainTokens(text: string, continues = false): Promise<readonly Token[]> {
    const tokens = await this.#tokens(text, false, continues);
    if (!tokens.some(this.vocabulary.isControl)) return tokens;
    // Words have merged to a control token: cut within each of them.
    const parts = this.vocabulary.controlTokens.split(text);
    const cut = await Promise.all(parts.map((part, index) => this.#tokens(part, false, continues || index > 0)));
    return cut.flat();
  }

  async spell(tokens: readonly Token[]): Promise<string> {
    return this.vocabulary.text(tokens) ?? (await this.#tokenizer.detokenize(tokens, this.#signal));
  }

  async #tokens(text: string, special: boolean, continues: boolean): Promise<readonly Token[]> {
    if (text === '') return [];
    const key = `${special ? 's' : 'p'}${continues ? 'c' : 'f'}${text}`;
    const known = this.#kept.get(key);
    if (known) return known;
    const tokens = await this.#request(text, special, continues);
    this.#kept.set(key, tokens);
    return tokens;
  }

  async #request(text: string, special: boolean, continues: boolean): Promise<readonly Token[]> {
    const options = { special, signal: this.#signal };
    if (!continues || !this.vocabulary.addsLeadingSpace) return this.#tokenizer.tokenize(text, options);
    // The tokenizer puts its space before the separator, whose tokens are then left out.
    const [lead, tokens] = await Promise.all([
      this.#tokenizer.tokenize(separator, { ...options, special: false }),
      this.#tokenizer.tokenize(separator + text, options),
    ]);
    const isKept = lead.every((token, index) => tokens[index] === token);
    return isKept ? tokens.slice(lead.length) : this.#tokenizer.tokenize(text, options);
  }
}
