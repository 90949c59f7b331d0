import type { Downloads } from '../../inference/download/downloads.ts';
import type { LocalFile } from '../../inference/download/local/findLocalFiles.ts';
import type { DownloadProgress } from '../../inference/download/progress.ts';
import { describeFault, Fault } from '../../protocol/fault.ts';
import type { CatalogueEntry } from '../../inference/models/catalogue/catalogue.ts';
import { formatBytes, formatDuration } from '../../base/units.ts';
import { interruptedExitCode, onInterrupt } from '../interrupt.ts';
import { requireEntry, openCatalogue } from '../catalogue.ts';
import { SingleBar } from 'cli-progress';

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

/** A progress bar on stderr, with speed and remaining time; disposing of it stops updates. */
interface ProgressBar extends Disposable {
  show(progress: DownloadProgress): void;
  /** Shows a message next to the bar. */
  note(sentence: string): void;
}

// The speed is averaged over the last 20 updates.
const maxSamples = 20;

/** Creates a progress bar; use it only when stderr is a terminal. */
function progressBar(name: string): ProgressBar {
  const bar = new SingleBar({
    format: `${name}  {bar} {percentage} %  {amounts}{speed}{note}`,
    barCompleteChar: '#',
    barIncompleteChar: '-',
    barsize: 24,
    hideCursor: true,
    fps: 5,
    gracefulExit: false,
  });
  const samples: { readonly atMs: number; readonly bytes: number }[] = [];
  let shown: { readonly amounts: string; readonly speed: string; readonly note: string } | undefined;
  return {
    show({ bytesDone, bytesTotal }) {
      samples.push({ atMs: performance.now(), bytes: bytesDone });
      if (samples.length > maxSamples) samples.shift();
      const total = bytesTotal === 0 ? '' : ` of ${formatBytes(bytesTotal)}`;
      const payload = { amounts: `${formatBytes(bytesDone)}${total}`, speed: speedOf(samples, bytesTotal), note: '' };
      if (shown) bar.update(bytesDone, payload);
      else bar.start(bytesTotal || Infinity, bytesDone, payload);
      shown = payload;
    },
    note(sentence) {
      if (shown) bar.update({ ...shown, speed: '', note: `  ${sentence}` });
      else process.stderr.write(`${sentence}\n`);
    },
    [Symbol.dispose]: () => bar.stop(),
  };
}

function speedOf(samples: readonly { readonly atMs: number; readonly bytes: number }[], total: number): string {
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last || last.atMs <= first.atMs || last.bytes <= first.bytes) return '';
  const perSecond = ((last.bytes - first.bytes) / (last.atMs - first.atMs)) * 1000;
  const left = total > last.bytes ? `  ${formatDuration((total - last.bytes) / perSecond)} left` : '';
  return `  ${formatBytes(perSecond)}/s${left}`;
}
