import type { Subprotocol } from '../../wire/codec.ts';
import { runCheck, type CheckResult, type CodecName } from '../report.ts';
import { handshakeChecks } from './checks/handshakeChecks.ts';
import { turnChecks } from './checks/turnChecks.ts';
import { FrameRules } from './frameRules.ts';
import type { ServerCheck } from './serverUnderTest.ts';

/** Which server is checked, and how. */
export interface ServerCheckOptions {
  /** `ws://HOST:PORT` */
  readonly url: string;
  readonly token?: string;
  /** Default: both. */
  readonly codecs?: readonly CodecName[];
  /** A model of the server's catalogue to generate with; default: none. */
  readonly model?: string;
  /** How long an answer may take; default: 10,000. */
  readonly timeoutMs?: number;
}

const subprotocols: Readonly<Record<CodecName, Subprotocol>> = {
  json: 'turngraph.v1.json',
  proto: 'turngraph.v1.proto',
};

/** The checks that run in each codec. */
export const serverChecks: readonly ServerCheck[] = [...handshakeChecks, ...turnChecks];

/** Checks a server as a client would see it. The results come as the checks end. */
export async function* checkServer({
  url,
  token = '',
  codecs = ['json', 'proto'],
  model = '',
  timeoutMs = 10_000,
}: ServerCheckOptions): AsyncGenerator<CheckResult> {
  for (const codec of codecs) {
    const rules = new FrameRules();
    const server = { url, token, codec, subprotocol: subprotocols[codec], model, timeoutMs, rules };
    for (const check of serverChecks) yield await runCheck(check, server, codec);
    yield* rules.results(codec);
  }
}
