import type { Token } from 'node-llama-cpp';
import type { PromptTokenizer, RenderedPrompt } from './templateRenderer.ts';
import type { GeneratedText } from './streamingDetokenizer.ts';
import { commonPrefixLength } from '../../base/commonPrefix.ts';

/** A prompt and the text that was generated after it. */
interface Snapshot extends RenderedPrompt {
  readonly tokens: readonly Token[];
  /** For each offset of `text` at which a later prompt can resume with a control string: the number of tokens before it. */
  readonly resumePoints: ReadonlyMap<number, number>;
}

/**
 * Token history of a sequence, for prefix reuse: tokenizes a prompt with the tokens that the model itself generated. A
 * model may generate a text as other tokens than the tokenizer would give for it. A prompt that repeats this text must
 * have the generated tokens, or everything after it would be evaluated again.
 */
export class TokenHistory {
  readonly #prompts: PromptTokenizer;
  #snapshot: Snapshot | undefined;

  constructor(prompts: PromptTokenizer) {
    this.#prompts = prompts;
  }

  /**
   * The tokens of a prompt: remembered ones up to the last control string of the template before the first difference to
   * the remembered text, new ones from there on.
   */
  async tokens(prompt: RenderedPrompt): Promise<Token[]> {
    const snapshot = this.#snapshot;
    if (!snapshot) return this.#prompts.tokensYielding(prompt);
    const equalLength = equalPromptLength(snapshot, prompt);
    const resumeAt = prompt.controlSpans.findLast(
      ({ start }) => start > 0 && start <= equalLength && snapshot.resumePoints.has(start),
    );
    if (!resumeAt) return this.#prompts.tokensYielding(prompt);
    return [
      ...snapshot.tokens.slice(0, snapshot.resumePoints.get(resumeAt.start)),
      ...(await this.#prompts.tokensYielding(prompt, resumeAt.start)),
    ];
  }

  /** Remembers a prompt with its tokens, and what was generated after it. */
  remember(prompt: RenderedPrompt, tokens: readonly Token[], generated: GeneratedText): void {
    const resumePoints = this.#resumePoints(prompt, tokens);
    const text = prompt.text + generated.text;
    if (resumePoints.size > 0) resumePoints.set(text.length, tokens.length + generated.tokens.length);
    const controlOffsets = new Set(generated.controlOffsets);
    const plainOffsets = this.#prompts.unsafeOffsets(generated.text).filter((offset) => !controlOffsets.has(offset));
    const generatedOffsets = plainOffsets.map((offset) => prompt.text.length + offset);
    this.#snapshot = {
      text,
      maskedOffsets: [...prompt.maskedOffsets, ...generatedOffsets],
      controlSpans: prompt.controlSpans,
      tokens: [...tokens, ...generated.tokens],
      resumePoints,
    };
  }

  // Pairs the control spans with the control tokens; only a BOS token may have no span. Where the counts differ, the
  // tokenizer reads other control tokens than the text shows, so nothing is reused.
  #resumePoints(prompt: RenderedPrompt, tokens: readonly Token[]): Map<number, number> {
    const controlIndexes = tokens.flatMap((token, index) => (this.#prompts.vocabulary.isControl(token) ? [index] : []));
    const surplus = controlIndexes.length - prompt.controlSpans.length;
    if (prompt.controlSpans.length === 0) return new Map();
    if (surplus !== 0 && !(surplus === 1 && controlIndexes[0] === 0)) return new Map();
    return new Map(prompt.controlSpans.map(({ start }, index) => [start, controlIndexes[index + surplus] ?? 0]));
  }
}

/** The number of leading UTF-16 units that two prompts have in common, masks included. */
function equalPromptLength(a: RenderedPrompt, b: RenderedPrompt): number {
  const length = commonPrefixLength(a.text, b.text);
  for (let index = 0; index < Math.max(a.maskedOffsets.length, b.maskedOffsets.length); index++) {
    const [offsetInA, offsetInB] = [a.maskedOffsets[index] ?? Infinity, b.maskedOffsets[index] ?? Infinity];
    if (offsetInA !== offsetInB) return Math.min(length, offsetInA, offsetInB);
  }
  return length;
}
