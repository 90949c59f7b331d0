import type { WebSocket } from 'ws';
import type { Subprotocol } from '../../src/protocol/codec/codec.ts';
import type { Check, CodecName } from '../report.ts';
import type { FrameRules } from './sessionTrace.ts';
import type { Patience } from './patience.ts';

/** A server that is checked in one codec. */
export interface ServerUnderTest {
  /** `ws://HOST:PORT/` */
  readonly url: string;
  /** Empty: the server has none. */
  readonly token: string;
  readonly codec: CodecName;
  readonly subprotocol: Subprotocol;
  /** A model of the server's catalogue to generate with; empty: none. */
  readonly model: string;
  /** How long an answer may take. */
  readonly timeoutMs: number;
  readonly rules: FrameRules;
  readonly patience: Patience;
  /** Those of the check that runs. */
  readonly sockets: CheckSockets;
  readonly facts: ServerFacts;
}

/** What a server can do beyond what each one can. */
export interface ServerFacts {
  /** Whether its mock engine echoes messages, as it does without a script. */
  readonly echoes: boolean;
}

/** A check of a server. */
export type ServerCheck = Check<ServerUnderTest>;

/** The sockets that one check has opened. All are gone when its time is over, or when it has ended. */
export class CheckSockets implements Disposable {
  readonly #open = new Set<WebSocket>();
  readonly #timer: NodeJS.Timeout;
  #isOver = false;

  constructor(timeoutMs: number) {
    this.#timer = setTimeout(() => this.#terminate(), timeoutMs);
  }

  /** A socket was opened. */
  add(socket: WebSocket): void {
    this.#open.add(socket);
    socket.on('close', () => this.#open.delete(socket));
    if (this.#isOver) socket.terminate();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#terminate();
  }

  #terminate(): void {
    this.#isOver = true;
    for (const socket of this.#open) socket.terminate();
  }
}
