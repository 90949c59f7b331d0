import type { ServerFrameBodies } from '../../protocol/frames.gen.ts';
import { splitToFrames } from '../../protocol/frameSize.ts';

/** Text that one node sends or holds back. */
interface NodeText {
  readonly nodeName: string;
  readonly text: string;
}

/** Sends one AnswerText frame of a turn. */
type SendAnswerText = (
  frame: Pick<ServerFrameBodies['answerText'], 'nodeName' | 'text' | 'isDelta' | 'isFinal'>,
) => void;

/** The answer of a turn: the texts that its nodes have sent, and the one that is held back. */
export class TurnAnswer {
  readonly #send: SendAnswerText;
  readonly #sent: NodeText[] = [];
  #held: NodeText | undefined;

  constructor(send: SendAnswerText) {
    this.#send = send;
  }

  /** What was sent. */
  get sent(): string {
    return joinTexts(this.#sent);
  }

  /** What was sent, and what is held back. */
  get text(): string {
    return joinTexts(this.#held ? [...this.#sent, this.#held] : this.#sent);
  }

  /** Sends a text, in frames of the size that clients accept. */
  say(nodeName: string, text: string, kind: 'delta' | 'whole'): void {
    if (text === '') return;
    this.#sent.push({ nodeName, text });
    const pieces = splitToFrames(text);
    for (const piece of pieces) {
      this.#send({ nodeName, text: piece, isDelta: kind === 'delta' || pieces.length > 1, isFinal: false });
    }
  }

  /** Holds a text back. @returns the node whose text it replaces; undefined: none was held. */
  hold(nodeName: string, text: string): string | undefined {
    const replaced = this.#held?.nodeName;
    this.#held = { nodeName, text };
    return replaced;
  }

  /** Discards the held text. */
  release(): void {
    this.#held = undefined;
  }

  /** Sends the held text, if there is one. */
  flush(): void {
    if (this.#held) this.say(this.#held.nodeName, this.#held.text, 'whole');
    this.#held = undefined;
  }
}

// Texts of one node are joined without a separator, texts of different nodes with a line break.
function joinTexts(texts: readonly NodeText[]): string {
  return texts.reduce((joined, { nodeName, text }, index) => {
    const previous = texts[index - 1];
    return previous && previous.nodeName !== nodeName ? `${joined}\n${text}` : joined + text;
  }, '');
}
