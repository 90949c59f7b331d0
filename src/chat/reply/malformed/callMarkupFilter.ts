import type { CallMarkup, MalformedCall } from '../../tool.ts';
import { commonMarkup } from '../detect/tags.ts';
import { splitMarkup } from '../splitMarkup.ts';
import { StreamableText } from './streamableText.ts';

/**
 * Takes markup of calls out of text that arrives in pieces, for a node that reads no calls: marks with what belongs to
 * them. JSON without a mark stays, as do Markdown code and prose around a mark. Text is let through up to the first mark;
 * what follows waits for the end. Reasoning is filtered before. How the text is cut into pieces makes no difference.
 */
export class CallMarkupFilter {
  readonly #markup: CallMarkup;
  readonly #stream: StreamableText;
  #text = '';
  /** The markup that was taken out, once all text is there. */
  unread: readonly MalformedCall[] = [];

  /** @param markup the marks of the model's calls; default: those that all models know. */
  constructor(markup: CallMarkup = commonMarkup) {
    this.#markup = markup;
    this.#stream = new StreamableText({ markup });
  }

  /** Takes the next piece of text and returns what can be let through. */
  push(piece: string): string {
    this.#text += piece;
    return this.#stream.push(piece);
  }

  /** Returns what was held back and is no markup, at the end of the text. */
  flush(): string {
    const options = { toolNames: new Set<string>(), isBareSearched: false, from: this.#stream.sent.length };
    const [answer, unread] = splitMarkup(this.#text, this.#markup, false, options);
    this.unread = unread;
    return this.#stream.rest(answer);
  }
}
