import type { Subprotocol } from '../../src/protocol/codec/codec.ts';
import { runCheck, type CheckResult, type CodecName } from '../report.ts';
import { CheckSockets, type ServerCheck, type ServerFacts, type ServerUnderTest } from './serverUnderTest.ts';
import { agentChecks } from './checks/agentChecks.ts';
import { dialogChecks } from './checks/dialogChecks.ts';
import { connectCheck, handshakeChecks } from './checks/handshakeChecks.ts';
import { httpChecks } from './checks/httpChecks.ts';
import { modelChecks } from './checks/modelChecks.ts';
import { orderChecks } from './checks/orderChecks.ts';
import { paramChecks } from './checks/paramChecks.ts';
import { refusalChecks } from './checks/refusalChecks.ts';
import { resumeChecks } from './checks/resumeChecks.ts';
import { runningTurnChecks } from './checks/runningTurnChecks.ts';
import { storageChecks } from './checks/storageChecks.ts';
import { toolCallChecks } from './checks/toolCallChecks.ts';
import { toolResultChecks } from './checks/toolResultChecks.ts';
import { transportChecks } from './checks/transportChecks.ts';
import { turnChecks } from './checks/turnChecks.ts';
import { fieldKindChecksOf } from './checks/fieldKindChecks.ts';
import { encodingChecksOf } from './checks/encodingChecks.ts';
import { limitChecks } from './checks/limitChecks.ts';
import { malformedChecksOf } from './checks/malformedChecks.ts';
import { findFacts } from './facts.ts';
import { FrameRules } from './sessionTrace.ts';
import { Patience } from './patience.ts';

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
  /** How long a check may take, however much comes; default: 120,000, and 600,000 with a model. */
  readonly checkTimeoutMs?: number;
  /** Only checks whose name has one of these texts; default: all. The rules for every frame are checked in any case. */
  readonly only?: readonly string[];
}

const subprotocols: Readonly<Record<CodecName, Subprotocol>> = {
  json: 'turngraph.v1.json',
  proto: 'turngraph.v1.proto',
};

const noFacts: ServerFacts = { echoes: false };

/** The checks of one codec. */
const checksOf = (codec: CodecName): readonly ServerCheck[] => [
  ...handshakeChecks,
  ...orderChecks,
  ...agentChecks,
  ...turnChecks,
  ...runningTurnChecks,
  ...toolCallChecks,
  ...toolResultChecks,
  ...dialogChecks,
  ...paramChecks,
  ...storageChecks,
  ...modelChecks,
  ...refusalChecks,
  ...encodingChecksOf(codec),
  ...malformedChecksOf(codec),
  ...fieldKindChecksOf(codec),
  ...limitChecks,
  ...transportChecks,
  ...resumeChecks,
];

/** Checks a server as a client would see it. The results come as the checks end. */
export async function* checkServer({
  url,
  token = '',
  codecs = ['json', 'proto'],
  model = '',
  timeoutMs = 10_000,
  checkTimeoutMs = model === '' ? 120_000 : 600_000,
  only = [],
}: ServerCheckOptions): AsyncGenerator<CheckResult> {
  const isChosen = ({ name }: ServerCheck): boolean => only.length === 0 || only.some((text) => name.includes(text));
  const patience = new Patience();
  const withSockets = async <Result>(
    server: Omit<ServerUnderTest, 'sockets'>,
    use: (server: ServerUnderTest) => Promise<Result>,
  ): Promise<Result> => {
    using sockets = new CheckSockets(checkTimeoutMs);
    return await use({ ...server, sockets });
  };
  const run = (check: ServerCheck, server: Omit<ServerUnderTest, 'sockets'>, codec?: CodecName): Promise<CheckResult> =>
    withSockets(server, (context) => runCheck(check, context, codec));
  for (const codec of codecs) {
    const rules = new FrameRules();
    const subprotocol = subprotocols[codec];
    const asked = { url, token, codec, subprotocol, model, timeoutMs, patience, rules, facts: noFacts };
    const connected = await run(connectCheck, asked, codec);
    yield connected;
    if (connected.outcome === 'failed') return;
    const server = { ...asked, facts: await withSockets(asked, findFacts) };
    for (const check of checksOf(codec).filter(isChosen)) yield await run(check, server, codec);
    yield* rules.results(codec);
    if (codec === codecs.at(-1)) for (const check of httpChecks.filter(isChosen)) yield await run(check, server);
  }
}
