import { Command } from 'commander';
import { CasesFileError, findCasesFiles } from '../graphTests/casesFile.ts';
import { openCaseSession, type CaseSession, type CaseResult } from '../graphTests/caseSession.ts';
import { Recorder, recordFile, type RecordOptions, type SavedRecording } from '../graphTests/recordFile.ts';
import { untilInterrupted } from '../interrupt.ts';
import { engineOptions, ownServerOptions, serverFlags, UsageError, type ServerFlags } from '../options.ts';
import { colorsFor, printableLines } from '../output/terminalText.ts';
import { describeCase, describeDifference } from '../output/testReport.ts';

interface RecordFlags extends ServerFlags {
  readonly model?: string;
  readonly out?: string;
  readonly force?: boolean;
}

const examples = `
Examples:
  turngraph record lamp.cases.json                    writes lamp.mock.json
  turngraph record lamp.cases.json --model big.gguf   with another model than that of the graph
  turngraph record graphs/tests                       all cases files of a folder, for example with a new model

The exit code is 1 when nothing could be recorded, a case fails with the recording, or its replay differs.`;

export const recordCommand = (): Command =>
  serverFlags(
    new Command('record')
      .description('run test cases on a model, and write its answers as a mock script for turngraph test')
      .argument('<cases...>', 'cases files, or folders with files that end in .cases.json')
      .option('--model <name>', "a name in the catalogue, or a .gguf file; default: the graph's own")
      .option('--out <file>', 'the file to write; default: the recording that the cases file names, or NAME.mock.json')
      .option('--force', 'replace a mock script that was not recorded')
      .addHelpText('after', examples),
    ['graphs', 'catalogue', 'models', 'cache', 'cacheLimit', 'extend', 'storageRoot', ...engineOptions],
  ).action((given: string[], { model = '', out, force = false, ...flags }: RecordFlags) =>
    untilInterrupted('interrupted', async (signal) => {
      const paths = await findCasesFiles(given);
      if (out !== undefined && paths.length > 1)
        throw new UsageError(`--out is one file, and there are ${paths.length} cases files; record them one by one`);
      const settings = ownServerOptions({ ...flags, slots: 1, token: '' });
      const recorder = new Recorder();
      const watchEngine = recorder.watch.bind(recorder);
      await using session = await openCaseSession({ settings, model, usesModels: true, watchEngine });
      const colors = colorsFor(process.stdout);
      const onCase = (result: CaseResult): void => void process.stdout.write(describeCase(result, colors));
      for (const path of paths)
        if (!(await record(path, session, { recorder, out, force, signal, onCase }))) process.exitCode = 1;
    }),
  );

async function record(path: string, session: CaseSession, options: RecordOptions): Promise<boolean> {
  process.stdout.write(`${path}:\n`);
  try {
    const written = await recordFile(path, session, options);
    process.stdout.write(describeWritten(written));
    return written.differences.length === 0 && written.cases.every(({ ok }) => ok);
  } catch (error) {
    if (!(error instanceof CasesFileError)) throw error;
    process.stderr.write(`${printableLines(error.message)}\n`);
    return false;
  }
}

function describeWritten({ path, entries, differences }: SavedRecording): string {
  const colors = colorsFor(process.stdout);
  const lines = differences.map((difference) => describeDifference(difference, colors));
  return `${lines.join('')}${path}: ${entries} ${entries === 1 ? 'entry' : 'entries'} written\n`;
}
