import { realpath } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { Command } from 'commander';
import { createRetriever, type Hit } from '../../graph/retrieval/retriever.ts';
import { readSearch } from '../../graph/retrieval/readSearch.ts';
import { SessionStorages } from '../../graph/storage/sessionStorages.ts';
import { StorageRoot } from '../../graph/storage/storageRoot.ts';
import { engineOptions, serverFlags, UsageError } from '../options.ts';
import { printable } from '../output/printable.ts';
import { searchWithModel } from '../searchWithModel.ts';

interface SearchFlags {
  readonly topK: string;
  readonly match: string;
  readonly filter: string;
  readonly embeddingModel?: string;
  readonly json?: boolean;
  readonly [serverFlag: string]: unknown;
}

/** `turngraph search`: the entries of a storage file that a query finds. */
export const searchCommand = (): Command =>
  serverFlags(
    new Command('search')
      .description('show what a query finds in a storage file, with scores')
      .argument('<file>', 'a .kb.json, .txt, .json or .mm.json file')
      .argument('<query>', 'what a player might say')
      .option('--top-k <n>', 'max entries, 1 to 1000', '3')
      .option('--match <how>', 'how to match: words, vectors, both', 'words')
      .option('--filter <json>', 'conditions on the metadata: {"min_level": {"$lte": 12}}', '')
      .option('--embedding-model <name>', 'for vectors: a name in the catalogue; default: the one that the file names')
      .option('--json', 'print one JSON object: {"found", "hits": [{"id", "text", "score", "metadata"}]}'),
    ['catalogue', 'models', 'cache', 'cacheLimit', ...engineOptions],
  ).action(search);

async function search(
  file: string,
  query: string,
  { topK, match, filter, json, embeddingModel, ...flags }: SearchFlags,
): Promise<void> {
  const count = Number(topK);
  if (topK.trim() === '' || !(count >= 1)) throw new UsageError(`--top-k must be an integer from 1, not "${topK}"`);
  const path = await realpath(file).catch((cause: NodeJS.ErrnoException) => {
    throw new Error(`${file} cannot be read: ${cause.code === 'ENOENT' ? 'there is no such file' : cause.message}`);
  });
  const storages = new SessionStorages(new StorageRoot(dirname(path)), Infinity);
  const storage = await storages.find(basename(path));
  const names = { match: '--match', topK: '--top-k', filter: '--filter' };
  const request = readSearch({ query, match, topK: count, filterJson: filter }, storage, names);
  const { hits, found } =
    match === 'words'
      ? await createRetriever(storage).search(request)
      : await searchWithModel(request, { storage, name: basename(path), embeddingModel }, flags);
  if (json) process.stdout.write(`${JSON.stringify({ found, hits })}\n`);
  else process.stdout.write((found ? '' : 'nothing found\n') + hits.map(describeHit).join(''));
}

function describeHit({ id, text, score, metadata }: Hit): string {
  const fields = Object.entries(metadata).map(([name, value]) => `${name}: ${String(value)}`);
  return [
    `${score.toFixed(3)}  ${printable(id)}${fields.length > 0 ? `  (${printable(fields.join('; '))})` : ''}\n`,
    `       ${printable(text)}\n`,
  ].join('');
}
