import { runCheck, type CheckResult, type CodecName } from '../report.ts';
import type { ClientCheck } from './clientCheck.ts';
import { ruleResults } from './rules.ts';
import { agentChecks } from './scenarios/agents.ts';
import { callChecks } from './scenarios/calls.ts';
import { endChecks } from './scenarios/end.ts';
import { handshakeChecks } from './scenarios/handshake.ts';
import { lostConnectionChecks } from './scenarios/lostConnection.ts';
import { messageChecks } from './scenarios/messages.ts';
import { newerServerChecks } from './scenarios/newerServer.ts';
import { Stage } from './stage.ts';

/** What `checkClient` checks. */
export interface ClientCheckOptions {
  /** Starts the client program; run by the shell of the system. */
  readonly command: string;
  /** Default: both. A codec that the program does not support is skipped, but not the only one. */
  readonly codecs?: readonly CodecName[];
  /** Milliseconds that the kit waits for anything that a client must do; default: 10,000. */
  readonly timeoutMs?: number;
  /** Only checks whose name has one of these texts; default: all. The rules for every frame are checked in any case. */
  readonly only?: readonly string[];
}

// In their order.
const clientChecks: readonly ClientCheck[] = [
  ...handshakeChecks,
  ...messageChecks,
  ...newerServerChecks,
  ...callChecks,
  ...agentChecks,
  ...lostConnectionChecks,
  ...endChecks,
];

// The exit code of a program that does not support the codec.
const notSupported = 77;

/** Plays a scripted server to a client program. Yields the result of each check when it is known. */
export async function* checkClient(options: ClientCheckOptions): AsyncGenerator<CheckResult, void, undefined> {
  const { codecs = ['json', 'proto'] } = options;
  let isSupported = false;
  for (const [index, codec] of codecs.entries()) {
    for await (const result of checkCodec(options, codec)) {
      if (result !== 'not supported') {
        isSupported = true;
        yield result;
        continue;
      }
      const isLast = index === codecs.length - 1;
      const name = `the program supports turngraph.v1.${codec}`;
      const reason = `the program exited with code ${notSupported}`;
      yield { name, codec, outcome: isLast && !isSupported ? 'failed' : 'skipped', reason };
    }
  }
}

async function* checkCodec(
  { command, timeoutMs = 10_000, only = [] }: ClientCheckOptions,
  codec: CodecName,
): AsyncGenerator<CheckResult | 'not supported', void, undefined> {
  await using stage = new Stage({ command, codec: `turngraph.v1.${codec}`, timeoutMs });
  let isFirst = true;
  for (const check of clientChecks) {
    if (only.length > 0 && !only.some((text) => check.name.includes(text))) continue;
    const { exitCode, ...result } = await runScenario(check, stage, codec);
    if (isFirst && exitCode === notSupported) return yield 'not supported';
    isFirst = false;
    yield result;
  }
  yield* ruleResults(stage, codec);
}

// A program that has failed a check is in a state that no scenario expects: the next one begins with a new program.
async function runScenario(
  check: ClientCheck,
  stage: Stage,
  codec: CodecName,
): Promise<CheckResult & { readonly exitCode: number | null | undefined }> {
  const run = async (): Promise<void> => {
    await check.run(stage);
    if (!check.endsProgram) await stage.settle();
  };
  const result = await runCheck({ ...check, run }, stage, codec);
  const exitCode = stage.inbox.exit?.code;
  if (result.outcome !== 'passed' || check.endsProgram) await stage.stop();
  return { ...result, exitCode };
}
