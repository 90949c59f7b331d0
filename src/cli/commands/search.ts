import { realpath } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { Command } from 'commander';
import { parseGpuLayers } from '../../server/config.ts';
import { whyUnreadable } from '../../base/filesystem.ts';
import { createLog } from '../../base/log.ts';
import { ModelPool } from '../../inference/models/pool/pool.ts';
import { createRetriever, type Hit, type SearchRequest, type SearchResult } from '../../graph/retrieval/retriever.ts';
import { VectorPool } from '../../graph/retrieval/vectors/vectorPool.ts';
import { vectorStore } from '../../graph/retrieval/vectors/vectorStore.ts';
import { searchEntries, type StorageSearch } from '../../server/session/searchStorage.ts';
import { localCatalogue } from '../catalogue.ts';
import { engineOptions, serverFlags, serverOptions, UsageError, type ServerFlags } from '../options.ts';
import { readSearch } from '../../graph/retrieval/readSearch.ts';
import { openStorages } from '../checkedGraphs.ts';
import { printable, vectorProgress } from '../output/terminalText.ts';

interface SearchFlags extends ServerFlags {
  readonly topK: string;
  readonly match: string;
  readonly filter: string;
  readonly embeddingModel?: string;
  readonly json?: boolean;
}

export const searchCommand = (): Command =>
  serverFlags(
    new Command('search')
      .description('show what a query finds in a storage file, with scores')
      .argument('<file>', 'a .kb.json, .txt, .json, .mm.json or .png file')
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
    throw new Error(`${file} cannot be read: ${whyUnreadable(cause)}`);
  });
  const storage = await openStorages(dirname(path)).find(basename(path));
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
  const metadataText = fields.length > 0 ? `  (${printable(fields.join('; '))})` : '';
  return `${score.toFixed(3)}  ${printable(id)}${metadataText}\n       ${printable(text)}\n`;
}

/**
 * Searches a storage with the embedding model that it names, in this process; the vectors are kept in the cache folder.
 * @param flags of the server: the catalogue, the cache folder, how the model is loaded.
 * @throws Fault as `searchEntries`.
 */
async function searchWithModel(
  request: SearchRequest,
  search: Pick<StorageSearch, 'storage' | 'name' | 'embeddingModel'>,
  flags: ServerFlags,
): Promise<SearchResult> {
  const options = serverOptions(flags);
  // Imported on demand: loading the engine takes time.
  const { cacheQuota, createUncachedLlamaEngine } = await import('../../server/llamaEngine.ts');
  const log = createLog({ level: 'error', json: false });
  const engine = await createUncachedLlamaEngine(options);
  await using pool = new ModelPool(engine, {
    ...options,
    gpuLayers: parseGpuLayers(options.gpuLayers),
    catalogue: await localCatalogue(options),
    idleMs: 0,
  });
  const store = options.cacheLimit > 0 ? vectorStore(options.cache, cacheQuota(options), log) : undefined;
  await using vectors = new VectorPool({ log, store, idleMs: 0, listener: { onProgress: vectorProgress() } });
  return await searchEntries(request, { ...search, pool, vectors, wait: {} });
}
