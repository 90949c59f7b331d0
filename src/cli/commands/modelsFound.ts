import type { LocalFile } from '../../inference/download/local/findLocalFiles.ts';
import type { CatalogueEntry } from '../../inference/models/catalogue/catalogue.ts';
import { formatBytes } from '../../base/units.ts';
import { openCatalogue } from '../catalogue.ts';

/** `turngraph models found`: the GGUF files that other programs have on this machine, and the models that they are. */
export async function found(flags: Readonly<Record<string, unknown>>): Promise<void> {
  const { catalogue, downloads, options } = await openCatalogue(flags);
  const { files, stores } = await downloads.findLocalModels();
  for (const file of files) {
    const { name, bytes, program, path, sha256 } = file;
    const models = [...catalogue.models.values()].filter((entry) => isFileOf(entry, file)).map((entry) => entry.name);
    if (options.json) {
      print(JSON.stringify({ name, size_bytes: bytes, program, file: path, sha256, models }));
      continue;
    }
    const belongs = models.length === 0 ? '' : `  ${models.map((model) => `"${model}"`).join(', ')}`;
    print(`${name}  ${formatBytes(bytes)}  ${program}${belongs}\n    ${path}`);
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

const print = (line: string): void => void process.stdout.write(`${line}\n`);
