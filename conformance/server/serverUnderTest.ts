import type { Subprotocol } from '../../src/protocol/codec/codec.ts';
import type { Check, CodecName } from '../report.ts';
import type { CheckSockets } from './checkSockets.ts';
import type { FrameRules } from './frameRules.ts';
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
