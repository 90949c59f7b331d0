import { Command } from 'commander';
import type { LocalFile } from '../../inference/download/local/findLocalFiles.ts';
import type { CatalogueEntry } from '../../inference/models/catalogue/catalogue.ts';
import { formatBytes, formatDuration } from '../../base/units.ts';
import { onInterrupt, interruptedExitCode } from '../interrupt.ts';
import { serverFlags, type ServerFlags } from '../options.ts';
import { factSources, readTargetMachine } from '../machine.ts';
import { readAllFacts, readModelFacts } from '../../inference/models/suggestions/modelFacts.ts';
import { requireEntry, openCatalogue } from '../catalogue.ts';
import { printLine, alignColumns, printComplete } from '../output/terminalText.ts';
import { isRemote } from '../../inference/models/catalogue/remoteEntry.ts';
import type { Suggestion, TargetMachine } from '../../inference/models/suggestions/suggestModels.ts';
import { showRate, suggestModels } from '../../inference/models/suggestions/suggestModels.ts';
import type { Downloads } from '../../inference/download/downloads.ts';
import type { DownloadProgress } from '../../inference/download/progress.ts';
import type { DownloadReport } from '../../inference/download/sharedDownload.ts';
import { describeFault, Fault } from '../../protocol/fault.ts';
import { SingleBar } from 'cli-progress';

/** `turngraph models`: list, info, suggest, found, download, verify, delete. */
export function modelsCommand(): Command {
  const models = new Command('models').description('list, download, verify and delete models');
  const command = (name: string, description: string): Command =>
    serverFlags(models.command(name).description(description), ['catalogue', 'models', 'json']);
  command('list', 'list the models of the catalogue, those on disk first').action(list);
  command('info', 'show details of a model').argument('<name>').action(info);
  serverFlags(command('suggest', 'list which models fit this machine, best first'), ['cache', 'slots', 'gpu']).action(
    printSuggestions,
  );
  command('found', 'list the GGUF files that other programs have on this machine').action(found);
  command('download', 'download models; an interrupted download resumes').argument('<name...>').action(download);
  command('verify', 'check downloaded models against their hashes').argument('[name]').action(verify);
  command('delete', 'delete the downloaded files of a model').argument('<name>').action(remove);
  return models;
}

async function list(flags: ServerFlags): Promise<void> {
  const { catalogue, downloads, options } = await openCatalogue(flags);
  const entries = [...catalogue.models.values()];
  const models = await Promise.all(
    entries.map(async (entry) => {
      const locating = downloads.locate(entry);
      return { entry, status: await downloads.readStatus(entry, locating), bytes: (await locating)?.bytes };
    }),
  );
  const isOnDisk = ({ status }: (typeof models)[number]): boolean => status === 'LOCAL' || status === 'DOWNLOADED';
  for (const { entry, status, bytes } of models.toSorted((a, b) => Number(isOnDisk(b)) - Number(isOnDisk(a)))) {
    const { name, description, tool_call_format, purpose } = entry;
    const size_bytes = bytes ?? entry.variants[0]?.size_bytes;
    if (options.json) printLine(JSON.stringify({ name, status, size_bytes, purpose, tool_call_format, description }));
    else {
      const size = size_bytes === undefined ? '' : formatBytes(size_bytes);
      const columns = [name, status, size, purpose === 'chat' ? tool_call_format : purpose].filter(
        (column) => column !== '',
      );
      printLine(`${columns.join('  ')}${description && `\n    ${description}`}`);
    }
  }
}

async function info(model: string, flags: ServerFlags): Promise<void> {
  const { catalogue, options } = await openCatalogue(flags);
  const entry = requireEntry(catalogue, model);
  const { name, description, tool_call_format, purpose, embedding, variants } = entry;
  const [variant] = variants;
  const { status, file, problem, bytesOnDisk, keptBytes } = await readModelFacts(entry, factSources(options));
  const details = {
    name,
    status,
    file,
    size_bytes: bytesOnDisk ?? variant?.size_bytes,
    problem,
    kept_bytes: status === 'ABSENT' ? keptBytes || undefined : undefined,
    huggingface_repo: variant?.huggingface_repo,
    revision: variant?.huggingface_repo === undefined ? undefined : variant.revision,
    files: variant?.files,
    lora: variant?.lora?.map(({ file, url, scale }) => `${file ?? url} * ${scale}`),
    license: variant?.license,
    context_size: variant?.context_size || undefined,
    purpose,
    query_prefix: embedding?.query_prefix,
    document_prefix: embedding?.document_prefix,
    tool_call_format,
    description,
  };
  if (options.json) return printLine(JSON.stringify(details));
  for (const [key, value] of Object.entries(details)) {
    const shown = key === 'size_bytes' && typeof value === 'number' ? formatBytes(value) : value;
    if (shown !== undefined && shown !== '') printLine(`${`${key}:`.padEnd(18)}${String(shown)}`);
  }
}

/** `turngraph models found`: the GGUF files that other programs have on this machine, and the models that they are. */
async function found(flags: ServerFlags): Promise<void> {
  const { catalogue, downloads, options } = await openCatalogue(flags);
  const { files, stores } = await downloads.findLocalModels();
  for (const file of files) {
    const { name, bytes, program, path, sha256 } = file;
    const models = [...catalogue.models.values()].filter((entry) => isFileOf(entry, file)).map((entry) => entry.name);
    const belongs = models.length === 0 ? '' : `  ${models.map((model) => `"${model}"`).join(', ')}`;
    if (options.json) printLine(JSON.stringify({ name, size_bytes: bytes, program, file: path, sha256, models }));
    else printLine(`${name}  ${formatBytes(bytes)}  ${program}${belongs}\n    ${path}`);
  }
  if (files.length > 0) return;
  const places = stores.map(({ program, folder }) => `    ${folder} (${program})\n`).join('');
  process.stderr.write(`no GGUF file of another program is on this machine; looked in\n${places}`);
}

/** Whether a file is one of a model: by the hash that its program names it after, or by its repository and path. */
function isFileOf({ variants: [variant] }: CatalogueEntry, { sha256, source }: LocalFile): boolean {
  if (!variant) return false;
  // The hash of an entry is that of its one file.
  if (variant.sha256 !== undefined && sha256 !== undefined) return variant.sha256 === sha256;
  return source !== undefined && variant.huggingface_repo === source.repo && variant.files.includes(source.file);
}

async function verify(name: string | undefined, flags: ServerFlags): Promise<void> {
  const { catalogue, downloads, options } = await openCatalogue(flags);
  const entries = name === undefined ? [...catalogue.models.values()] : [requireEntry(catalogue, name)];
  using interrupt = onInterrupt();
  for (const entry of entries) {
    const files = await downloads.verify(entry, { signal: interrupt.signal });
    const missing = await downloads.findMissing(entry);
    for (const { file, verdict, why, sha256, bytes, quarantined } of files) {
      if (verdict === 'BAD') process.exitCode = 1;
      if (options.json)
        printLine(JSON.stringify({ model: entry.name, file, verdict, bytes, sha256, why, set_aside: quarantined }));
      else
        printLine(
          `${entry.name}  ${verdict}  ${file}${why && `\n    ${why}`}${quarantined && `; set aside as ${quarantined}`}`,
        );
    }
    if (name !== undefined && (files.length === 0 || missing !== undefined))
      throw new Error(`"${name}" is not on disk${missing === undefined ? '' : `: ${missing}`}`);
    if (files.length > 0 && missing !== undefined) process.stderr.write(`${entry.name}: ${missing}\n`);
  }
}

async function remove(name: string, flags: ServerFlags): Promise<void> {
  const { catalogue, downloads, options } = await openCatalogue(flags);
  const { bytes } = await downloads.remove(requireEntry(catalogue, name));
  if (options.json) printLine(JSON.stringify({ event: 'deleted', model: name, bytes }));
  else process.stderr.write(`${name}: deleted, ${formatBytes(bytes)} are free\n`);
}

/** Reports a download: as text for a terminal, or as JSON lines for a program. */
interface Reporter extends DownloadReport, Disposable {
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
  try {
    const { bytes } = await downloads.start(entry, downloads, { signal, ...reporter });
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
    onProgress: (progress) => bar?.show(progress),
    onRetry: note,
    onLocalFile: ({ program, path }) => note(`${name}: verifies the file of ${program}, ${path}`),
    downloaded: (bytes, file) => printLine(`${name}: ${formatBytes(bytes)} in ${file}`),
    failed: (fault) => printLine(`error: ${describeFault(fault)}`),
    [Symbol.dispose]: () => bar?.[Symbol.dispose](),
  };
}

function jsonReporter(model: string): Reporter {
  const emit = (event: string, body: object): void => printLine(JSON.stringify({ event, model, ...body }));
  return {
    onProgress: (progress) => emit('progress', progress),
    onRetry: (message) => emit('trouble', { message }),
    onLocalFile: ({ program, path }) => emit('verifying', { program, file: path }),
    downloaded: (bytes, file) => emit('downloaded', { bytes, file }),
    failed: ({ name, code, message }) => emit('failed', { code, name, message }),
    [Symbol.dispose]: () => undefined,
  };
}

// The speed is averaged over the last 20 updates.
const maxSamples = 20;

/** A progress bar on stderr, which is a terminal, with speed and remaining time; disposing of it stops updates. */
function progressBar(name: string) {
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
    show({ bytesDone, bytesTotal }: DownloadProgress): void {
      samples.push({ atMs: performance.now(), bytes: bytesDone });
      if (samples.length > maxSamples) samples.shift();
      const total = bytesTotal === 0 ? '' : ` of ${formatBytes(bytesTotal)}`;
      const payload = { amounts: `${formatBytes(bytesDone)}${total}`, speed: speedOf(samples, bytesTotal), note: '' };
      if (shown) bar.update(bytesDone, payload);
      else bar.start(bytesTotal || Infinity, bytesDone, payload);
      shown = payload;
    },
    /** Shows a message next to the bar. */
    note(sentence: string): void {
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

/** `turngraph models suggest`: which models fit this machine. */
async function printSuggestions(flags: Readonly<Record<string, unknown>>): Promise<void> {
  const { catalogue, options } = await openCatalogue(flags);
  const machine = await readTargetMachine(options);
  // What generates text: a model for searches is chosen by what it finds.
  const facts = (await readAllFacts(catalogue, factSources(options))).filter(
    ({ entry }) => !isRemote(entry) && entry.purpose === 'chat',
  );
  const suggestions = await suggestModels(facts, machine);
  if (options.json) return printComplete({ machine, models: suggestions });
  const rows = suggestions.map((model) => [
    model.name,
    fitLabels[model.fit],
    model.size === undefined ? 'unknown' : showBytes(model.size),
    showBytes(model.slotBytes),
    showSpeed(model),
    model.status + (model.problem === undefined ? '' : `: ${model.problem}`),
  ]);
  const table = alignColumns([headings, ...rows]).map((row) => row.join('  ').trimEnd());
  printLine([describeMachine(machine), '', ...table].join('\n'));
}

const headings = ['model', 'fits', 'size', 'KV cache of a slot', 'decode', 'status'];

const fitLabels: Readonly<Record<Suggestion['fit'], string>> = {
  card: 'on the card',
  memory: 'in memory',
  slow: 'in memory, slow',
  'one-slot': 'with --slots 1',
  unknown: 'unknown',
  no: 'no',
};

const qualifiers: Readonly<Record<Suggestion['slotBytes']['basis'], string>> = {
  known: '',
  estimated: 'about ',
  assumed: 'perhaps ',
};

const showBytes = ({ value, basis }: Suggestion['slotBytes']): string => qualifiers[basis] + formatBytes(value, 1);

function showSpeed({ tokensPerSecond: rate, isMeasured }: Suggestion): string {
  if (rate === undefined) return 'unknown';
  const shown = `${showRate(rate)} tokens/s`;
  return isMeasured ? `${shown}, measured` : `about ${shown}`;
}

function describeMachine({ freeRam, card, bandwidth }: TargetMachine): string {
  const graphics = card
    ? `${card.names.join(', ')} with ${formatBytes(card.freeBytes, 1)} of ${formatBytes(card.totalBytes, 1)} free`
    : 'no graphics card';
  const speed =
    bandwidth === undefined ? 'memory bandwidth unknown' : `memory bandwidth ${formatBytes(bandwidth, 1)}/s`;
  return `${formatBytes(freeRam, 1)} of memory free, ${graphics}, ${speed}`;
}
