import type { Downloads } from '../../inference/download/downloads.ts';
import type { LocalFile } from '../../inference/download/local/findLocalFiles.ts';
import type { DownloadProgress } from '../../inference/download/progress.ts';
import { describeFault, Fault } from '../../protocol/fault.ts';
import type { CatalogueEntry } from '../../inference/models/catalogue/catalogue.ts';
import { formatBytes } from '../../base/units.ts';
import { interruptedExitCode, onInterrupt } from '../interrupt.ts';
import { requireEntry, openCatalogue } from '../catalogue.ts';
import { progressBar } from '../output/progressBar.ts';

/** Reports a download: as text for a terminal, or as JSON lines for a program. */
interface Reporter extends Disposable {
  progress(progress: DownloadProgress): void;
  /** Called before each retry, with its reason. */
  retry(sentence: string): void;
  /** Called before a file of another program is verified, to be taken instead of a download. */
  localFile(file: LocalFile): void;
  downloaded(bytes: number, file: string): void;
  failed(fault: Fault): void;
}

/** `turngraph models download`: one model after the other; a failure does not stop the others. */
export async function download(names: readonly string[], flags: Readonly<Record<string, unknown>>): Promise<void> {
  const { catalogue, downloads, options } = await openCatalogue(flags);
  const entries = names.map((name) => requireEntry(catalogue, name));
  await using _ = downloads;
  using interrupt = onInterrupt();
  for (const entry of entries) {
    using reporter = options.json ? jsonReporter(entry.name) : terminalReporter(entry.name);
    await downloadOne(downloads, entry, reporter, interrupt.signal);
    if (!interrupt.signal.aborted) continue;
    process.exitCode = interruptedExitCode;
    return;
  }
}

async function downloadOne(
  downloads: Downloads,
  entry: CatalogueEntry,
  reporter: Reporter,
  signal: AbortSignal,
): Promise<void> {
  const { progress: onProgress, retry: onRetry, localFile: onLocalFile } = reporter;
  try {
    const { bytes } = await downloads.start(entry, downloads, { signal, onProgress, onRetry, onLocalFile });
    reporter.downloaded(bytes, (await downloads.locate(entry))?.files[0] ?? '');
  } catch (error) {
    const fault = Fault.from(error);
    if (fault.name === 'INTERNAL') throw error;
    reporter.failed(fault.name === 'DOWNLOAD_CANCELLED' ? await stoppedFault(downloads, entry) : fault);
    process.exitCode = 1;
  }
}

const stoppedFault = async (downloads: Downloads, entry: CatalogueEntry): Promise<Fault> =>
  new Fault(
    'DOWNLOAD_CANCELLED',
    `stopped; ${formatBytes(await downloads.readKeptBytes(entry))} of "${entry.name}" are kept, and the same command goes on from there`,
  );

function terminalReporter(name: string): Reporter {
  const bar = process.stderr.isTTY ? progressBar(name) : undefined;
  const printLine = (sentence: string): void => {
    bar?.[Symbol.dispose]();
    process.stderr.write(`${sentence}\n`);
  };
  const note = bar?.note ?? printLine;
  return {
    progress: (progress) => bar?.show(progress),
    retry: note,
    localFile: ({ program, path }) => note(`${name}: verifies the file of ${program}, ${path}`),
    downloaded: (bytes, file) => printLine(`${name}: ${formatBytes(bytes)} in ${file}`),
    failed: (fault) => printLine(`error: ${describeFault(fault)}`),
    [Symbol.dispose]: () => bar?.[Symbol.dispose](),
  };
}

function jsonReporter(model: string): Reporter {
  const emit = (event: string, body: object): void =>
    void process.stdout.write(`${JSON.stringify({ event, model, ...body })}\n`);
  return {
    progress: (progress) => emit('progress', progress),
    retry: (message) => emit('trouble', { message }),
    localFile: ({ program, path }) => emit('verifying', { program, file: path }),
    downloaded: (bytes, file) => emit('downloaded', { bytes, file }),
    failed: ({ name, code, message }) => emit('failed', { code, name, message }),
    [Symbol.dispose]: () => undefined,
  };
}
