import { runCheck, type CheckResult, type CodecName } from '../report.ts';
import { type ClientCheck, Stage } from './stage.ts';
import { ruleResults } from './rules.ts';
import { agentChecks } from './scenarios/agents.ts';
import { callChecks } from './scenarios/calls.ts';
import { endChecks } from './scenarios/end.ts';
import { handshakeChecks } from './scenarios/handshake.ts';
import { lostConnectionChecks } from './scenarios/lostConnection.ts';
import { messageChecks } from './scenarios/messages.ts';
import { newerServerChecks } from './scenarios/newerServer.ts';

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
  const { command, timeoutMs = 10_000, codecs = ['json', 'proto'], only = [] } = options;
  const isChosen = ({ name }: ClientCheck): boolean => only.length === 0 || only.some((text) => name.includes(text));
  let isSupported = false;
  for (const [index, codec] of codecs.entries()) {
    await using stage = new Stage({ command, codec: `turngraph.v1.${codec}`, timeoutMs });
    const startResult = await checkStart(stage, codec, isSupported || index < codecs.length - 1);
    if (startResult) {
      yield startResult;
      continue;
    }
    isSupported = true;
    for (const check of clientChecks.filter(isChosen)) yield await runScenario(check, stage, codec);
    yield* ruleResults(stage, codec);
  }
}

// Whether the program runs, and supports the codec; undefined when it does.
async function checkStart(stage: Stage, codec: CodecName, maySkip: boolean): Promise<CheckResult | undefined> {
  const name = `the program runs with turngraph.v1.${codec}`;
  const result = await runCheck({ name, section: 'Connecting', run: () => stage.runs() }, stage, codec);
  if (result.outcome === 'passed') return undefined;
  if (stage.inbox.exit?.code !== notSupported) return result;
  const reason = `the program exited with code ${notSupported}: it does not support this codec`;
  return { ...result, outcome: maySkip ? 'skipped' : 'failed', reason };
}

// A program that has failed a check is in a state that no scenario expects: the next one begins with a new program.
async function runScenario(check: ClientCheck, stage: Stage, codec: CodecName): Promise<CheckResult> {
  const run = async (): Promise<void> => {
    await check.run(stage);
    if (!check.endsProgram) await stage.settle();
  };
  const result = await runCheck({ ...check, run }, stage, codec);
  if (result.outcome !== 'passed' || check.endsProgram) await stage.stop();
  return result;
}
