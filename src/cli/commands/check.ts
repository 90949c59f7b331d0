import { Command } from 'commander';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { memoizedByKey } from '../../base/memoized.ts';
import { loadExtension, registryWith } from '../../graph/nodes/index.ts';
import {
  type Catalogue,
  fileMissingFault,
  withoutDownloadRequests,
} from '../../inference/models/catalogue/catalogue.ts';
import { isRemote } from '../../inference/models/catalogue/remoteEntry.ts';
import { readGguf } from '../../inference/llama/gguf/validateFile.ts';
import { noTemplateNote } from '../../chat/template/familyLayouts.ts';
import { isOnDisk, localCatalogue } from '../catalogue.ts';
import { chooserFor } from '../machine.ts';
import { checkedGraphs, type CheckedFile, checkStorage, isStorageFile } from '../checkedGraphs.ts';
import { noCard } from '../../graph/storage/knowledge/characterCard.ts';
import { isFile, isFolder } from '../findGraph.ts';
import { printable, printLine } from '../output/terminalText.ts';
import { serverFlags, serverOptions } from '../options.ts';

export const checkCommand = (): Command =>
  serverFlags(
    new Command('check')
      .description('validate graphs as the server would')
      .argument(
        '<graph...>',
        'graph files, folders of them, or names in the graphs folder; lorebooks (.kb.json) and cards (.png) are checked as storages',
      ),
    ['graphs', 'catalogue', 'models', 'cache', 'slots', 'gpu', 'storageRoot', 'extend', 'json'],
  ).action(async (named: string[], flags: Record<string, unknown>) => {
    const options = serverOptions(flags);
    const files = named.flatMap((path) => filesIn(path, options.graphs));
    const graphs = files.filter((file) => !isStorageFile(file));
    const registry = registryWith(await loadExtension(options.extend));
    const catalogue = await localCatalogue(options);
    const notesOf = memoizedByKey((name: string) => name, modelNotes(catalogue));
    const context = { registry, catalogue, notesOf, choose: chooserFor(options, catalogue) };
    for await (const checked of checkedGraphs(graphs, options, context)) report(checked, options);
    for (const file of files.filter(isStorageFile)) {
      const checked = await checkStorage(file);
      // A folder may have other images.
      if (named.includes(file) || !checked.messages[0]?.includes(noCard)) report(checked, options);
    }
  });

const modelNotes =
  (catalogue: Catalogue) =>
  async (name: string): Promise<readonly string[]> => {
    const entry = catalogue.models.get(name);
    if (entry && !isRemote(entry) && !isOnDisk(catalogue, name))
      return [`the model ${withoutDownloadRequests(fileMissingFault(entry).message)}`];
    const { purpose, file } = entry ?? {};
    if (purpose !== 'chat' || file === undefined) return [];
    const gguf = await readGguf(file).catch(() => undefined);
    const hasTemplate = gguf?.header.values.has('tokenizer.chat_template');
    return hasTemplate === false ? [`the model "${name}": ${noTemplateNote}`] : [];
  };

/** The graphs, lorebooks and character cards of a folder and of those in it; another path, or the name of a graph, as it is. */
function filesIn(path: string, graphs: string): readonly string[] {
  if (!isFolder(path) || isFile(join(graphs, `${path}.json`))) return [path];
  const files = readdirSync(path, { recursive: true, encoding: 'utf8' });
  const graphFiles = files.filter((file) => /(?:(?<!\.(?:cases|mock|schema))\.json|\.png)$/i.test(file));
  return graphFiles.sort().map((file) => join(path, file));
}

function report({ path, faults, messages, warnings }: CheckedFile, { json }: { readonly json: boolean }): void {
  if (faults.length > 0) process.exitCode = 1;
  if (json) return printLine(JSON.stringify({ file: path, faults, warnings }));
  if (messages.length === 0) process.stdout.write(`${path}: ok\n`);
  for (const message of messages) process.stderr.write(`${printable(message)}\n`);
  for (const warning of warnings) process.stderr.write(`${path}: warning: ${printable(warning)}\n`);
}
