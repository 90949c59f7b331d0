import { Command } from 'commander';
import type { LocalFile } from '../../inference/download/local/findLocalFiles.ts';
import type { CatalogueEntry } from '../../inference/models/catalogue/catalogue.ts';
import { formatBytes } from '../../base/units.ts';
import { onInterrupt } from '../interrupt.ts';
import { type ServerFlags, serverFlags } from '../options.ts';
import { factSources } from '../machine.ts';
import { readModelFacts } from '../../inference/models/suggestions/modelFacts.ts';
import { requireEntry, openCatalogue, type OpenCatalogue } from '../catalogue.ts';
import { printLine } from '../output/terminalText.ts';
import { download } from './modelsDownload.ts';
import { printSuggestions } from './modelsSuggest.ts';

/** `turngraph models`: list, info, suggest, found, download, verify, delete. */
export function modelsCommand(): Command {
  const models = new Command('models').description('list, download, verify and delete models');
  const command = (name: string, description: string): Command =>
    serverFlags(models.command(name).description(description), ['catalogue', 'models', 'json']);
  command('list', 'list the models of the catalogue, those on disk first').action(list);
  command('info', 'show details of a model').argument('<name>').action(info);
  serverFlags(command('suggest', 'list which models fit this machine, best first'), ['slots', 'gpu']).action(
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
    entries.map(async (entry) => ({ entry, status: await downloads.readStatus(entry) })),
  );
  const isOnDisk = ({ status }: (typeof models)[number]): boolean => status === 'LOCAL' || status === 'DOWNLOADED';
  for (const { entry, status } of models.toSorted((a, b) => Number(isOnDisk(b)) - Number(isOnDisk(a)))) {
    const { name, description, tool_call_format, purpose } = entry;
    const size_bytes = await readSize(downloads, entry);
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

/** Bytes on disk, or of the catalogue; undefined if neither has them. */
const readSize = async (downloads: OpenCatalogue['downloads'], entry: CatalogueEntry): Promise<number | undefined> =>
  (await downloads.locate(entry))?.bytes ?? entry.variants[0]?.size_bytes;

async function info(name: string, flags: ServerFlags): Promise<void> {
  const folder = await openCatalogue(flags);
  const details = await readDetails(folder, requireEntry(folder.catalogue, name));
  if (folder.options.json) return printLine(JSON.stringify(details));
  for (const [key, value] of Object.entries(details)) {
    const shown = key === 'size_bytes' && typeof value === 'number' ? formatBytes(value) : value;
    if (shown !== undefined && shown !== '') printLine(`${`${key}:`.padEnd(18)}${String(shown)}`);
  }
}

async function readDetails({ downloads, options }: OpenCatalogue, entry: CatalogueEntry): Promise<object> {
  const { name, description, tool_call_format, purpose, embedding, variants } = entry;
  const [variant] = variants;
  const {
    status,
    problem,
    bytesOnDisk = variant?.size_bytes,
    keptBytes,
  } = await readModelFacts(entry, factSources(options));
  return {
    name,
    status,
    file: (await downloads.locate(entry))?.files[0],
    size_bytes: bytesOnDisk,
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
