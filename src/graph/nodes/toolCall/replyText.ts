import type { Turn } from '../../compile/turn.ts';
import { StreamableText, type StreamableTextOptions } from '../../../chat/reply/malformed/streamableText.ts';

/** Sends the text of one reply of a node: as deltas while it is generated, or at its end. */
export class ReplyText {
  readonly #turn: Turn;
  readonly #stream: StreamableText | undefined;
  #separator: string;

  /**
   * @param isLater whether another reply of the node has sent a text in this turn: this one begins a line.
   * @param streamed what the streamed text must not have; undefined: it is not streamed.
   */
  constructor(turn: Turn, isLater: boolean, streamed: StreamableTextOptions | undefined) {
    this.#turn = turn;
    this.#separator = isLater ? '\n' : '';
    this.#stream = streamed && new StreamableText(streamed);
  }

  /** Takes a piece of the reply. */
  push(piece: string): void {
    if (this.#stream) this.#say(this.#stream.push(piece), 'delta');
  }

  /** Sends a piece of an answer that is no reply with calls. */
  pass(piece: string): void {
    this.#say(piece, 'delta');
  }

  /** Sends what remains of the answer. */
  end(answer: string): void {
    if (this.#stream) this.#say(this.#stream.rest(answer), 'delta');
    else this.#say(answer, 'whole');
  }

  #say(text: string, kind: 'delta' | 'whole'): void {
    if (text === '') return;
    this.#turn.say(this.#separator + text, kind);
    this.#separator = '';
  }
}
