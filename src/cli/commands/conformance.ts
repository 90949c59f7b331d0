import { pathToFileURL } from 'node:url';
import { Command, Option } from 'commander';
import { bundledPath } from '../../base/packageFiles.ts';
import { interruptedExitCode, onInterrupt } from '../interrupt.ts';
import { UsageError } from '../options.ts';
import { printable } from '../output/terminalText.ts';

/** What came of one check, as the conformance kit reports it. */
export interface CheckResult {
  readonly name: string;
  /** Absent where a check has no codec, such as one of an HTTP path. */
  readonly codec?: 'json' | 'proto';
  readonly outcome: 'passed' | 'failed' | 'skipped';
  /** Why the check did not pass. */
  readonly reason: string;
}

/** What the command needs of the conformance kit, which is not in `src`. */
export interface ConformanceKit {
  readonly checkServer: (
    options: KitChoice & Pick<ConformanceFlags, 'token' | 'model'> & { readonly url: string },
  ) => AsyncIterable<CheckResult>;
  readonly checkClient: (options: KitChoice & { readonly command: string }) => AsyncIterable<CheckResult>;
}

interface KitChoice {
  readonly codecs?: readonly NonNullable<CheckResult['codec']>[];
  readonly only?: readonly string[];
}

interface ConformanceFlags extends Pick<KitChoice, 'only'>, Pick<CheckResult, 'codec'> {
  readonly server?: string;
  readonly client?: string;
  readonly token?: string;
  readonly model?: string;
  readonly json?: boolean;
}

const examples = `
Examples:
  turngraph conformance --server ws://127.0.0.1:9100                     in both codecs
  turngraph conformance --server ws://127.0.0.1:9100 --codec json
  turngraph conformance --server ws://127.0.0.1:9100 --model turngraph-demo
  turngraph conformance --client "python3 conform.py"                    docs/contribute/conformance.md describes the program

The exit code is 1 when a check fails, and 2 for wrong usage.`;

export const conformanceCommand = (): Command =>
  new Command('conformance')
    .description('check a server or a client against the protocol')
    .option('--server <url>', 'the server to check: ws://HOST:PORT')
    .option('--client <command>', 'the client program to check, as docs/contribute/conformance.md describes it')
    .option('--token <secret>', 'the token of the server (TURNGRAPH_TOKEN)')
    .addOption(new Option('--codec <name>', 'only in this codec (default: both)').choices(['json', 'proto']))
    .option('--model <name>', 'generate with this model of the server, too')
    .option('--only <text...>', 'only checks whose name has one of these texts')
    .option('--json', 'print the results as a JSON list')
    .addHelpText('after', examples)
    .action(async ({ json = false, ...flags }: ConformanceFlags) => {
      using interrupt = onInterrupt();
      // The exit ends what the kit has started.
      interrupt.signal.addEventListener('abort', () => process.exit(interruptedExitCode));
      const results: CheckResult[] = [];
      for await (const result of await checksOf(flags)) {
        results.push(result);
        if (!json) process.stdout.write(`${describeCheck(result)}\n`);
      }
      if (json) process.stdout.write(`${JSON.stringify(results)}\n`);
      else process.stderr.write(`${describeCheckTotals(results)}\n`);
      process.exitCode = results.some(({ outcome }) => outcome === 'failed') ? 1 : 0;
      const unused = flags.only?.find((text) => !results.some(({ name }) => name.includes(text)));
      // Otherwise a misspelt text would pass.
      if (unused !== undefined && process.exitCode === 0)
        throw new UsageError(`--only: no check has "${unused}" in its name`);
    });

/** The checks that the flags ask for. @throws UsageError */
async function checksOf(flags: ConformanceFlags): Promise<AsyncIterable<CheckResult>> {
  const { server, client, token, codec, model, only } = flags;
  const choice = { ...(codec && { codecs: [codec] }), ...(only && { only }) };
  if (client !== undefined) {
    const others = Object.entries({ server, token, model }).find(([, value]) => value !== undefined);
    if (others) throw new UsageError(`--client does not go with --${others[0]}`);
    return (await loadKit()).checkClient({ command: client, ...choice });
  }
  if (server === undefined) throw new UsageError('conformance needs --server URL or --client COMMAND');
  if (!URL.canParse(server) || !/^wss?:$/.test(new URL(server).protocol))
    throw new UsageError(`--server must be a WebSocket address such as ws://127.0.0.1:9100, not ${server}`);
  const secret = token ?? process.env['TURNGRAPH_TOKEN'];
  const target = { url: server, ...(secret && { token: secret }), ...(model && { model }) };
  return (await loadKit()).checkServer({ ...target, ...choice });
}

// Not an import that TypeScript follows: src does not know the kit.
const loadKit = async (): Promise<ConformanceKit> =>
  await import(pathToFileURL(bundledPath('dist/conformance/index.js')).href);

/** One line of a check: the outcome, the codec, the sentence, and after a colon why it did not pass. */
export const describeCheck = ({ name, codec, outcome, reason }: CheckResult): string =>
  printable(`${outcome.padEnd(7)} ${(codec ?? '').padEnd(5)} ${name}${reason && `: ${reason}`}`);

/** The last line: how many checks had which outcome. */
export function describeCheckTotals(results: readonly CheckResult[]): string {
  const count = (outcome: CheckResult['outcome']): number =>
    results.filter((result) => result.outcome === outcome).length;
  const skipped = count('skipped');
  return `${count('passed')} passed, ${count('failed')} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
