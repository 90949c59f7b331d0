// retrieve: the search over a KNOWLEDGE storage of 100,000 generated entries of 40 words, without a model.
//
// Reading: how long the event loop is held at most while the file is read and its words are indexed. Words: the time of a
// query of six words, of which one in four is misspelled, with its filter. Memory: what the index takes in addition to the entries. Vectors: the search
// over as many of 384 random numbers, with the same filter.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { readFilter } from '../../../dist/graph/retrieval/filter/readFilter.js';
import { normalizeVector } from '../../../dist/inference/contract/model.js';
import { createRetriever } from '../../../dist/graph/retrieval/retriever.js';
import { findNearest } from '../../../dist/graph/retrieval/vectors/vectorMatrix.js';
import { SessionStorages } from '../../../dist/graph/storage/sessionStorages.js';
import { StorageRoot } from '../../../dist/graph/storage/storageRoot.js';
import { createRandom } from '../../seededRandom.mjs';
import { GeneratedLore } from '../generatedLore.mjs';
import { createResult, median, quantile } from '../results.mjs';

const entries = 100_000;
const wordsGoalMs = 20;
const vectorsGoalMs = 60;
const dimensions = 384;
const loopGoalMs = 100;
const name = 'retrieve';

export const retrieve = {
  name,
  async run(bench) {
    const lore = new GeneratedLore(26);
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-bench-'));
    bench.closeAtEnd({ close: () => rm(folder, { recursive: true }) });
    await writeFile(join(folder, 'lore.kb.json'), JSON.stringify(lore.records(entries)));
    const storages = new SessionStorages(new StorageRoot(folder), Infinity);

    const bytesAtFirst = usedBytes();
    const { result: storage, figures: reading } = await whileMeasured(() => storages.find('lore.kb.json'));
    const bytesBefore = usedBytes();
    const retriever = createRetriever(storage);
    const { figures: indexing } = await whileMeasured(() => retriever.search(wordRequest(lore)));
    const indexBytes = usedBytes() - bytesBefore;
    const words = await measureQueries(bench, () => retriever.search(wordRequest(lore)));
    const byVectors = createRetriever(storage, randomVectors(entries));
    const vectorRequest = () => ({ ...wordRequest(lore), match: 'vectors' });
    const searching = await whileMeasured(() => measureQueries(bench, () => byVectors.search(vectorRequest())));
    return [
      createResult({
        name,
        of: 'words',
        ratio: words.median,
        unit: 'ms',
        goal: wordsGoalMs,
        better: 'lower',
        ...words,
      }),
      createResult({
        name,
        of: 'words, event loop held',
        ratio: Math.max(reading.heldMs, indexing.heldMs),
        unit: 'ms',
        goal: loopGoalMs,
        better: 'lower',
        reading,
        indexing,
      }),
      createResult({
        name,
        of: 'vectors',
        ratio: searching.result.median,
        unit: 'ms',
        goal: vectorsGoalMs,
        better: 'lower',
        ...searching.result,
      }),
      createResult({
        name,
        of: 'vectors, event loop held',
        ratio: searching.figures.heldMs,
        unit: 'ms',
        goal: loopGoalMs,
        better: 'lower',
      }),
      createResult({
        name,
        of: 'vectors, memory',
        ratio: (entries * dimensions * 4) / 2 ** 20,
        unit: 'MiB',
        goal: null,
        better: 'lower',
        entries,
        dimensions,
      }),
      createResult({
        name,
        of: 'words, memory',
        ratio: indexBytes / 2 ** 20,
        unit: 'MiB',
        goal: null,
        better: 'lower',
        entries,
        entriesMiB: (bytesBefore - bytesAtFirst) / 2 ** 20,
      }),
    ];
  },
};

/** A search over vectors of random numbers for random queries: no embedding model is part of it. */
function randomVectors(count) {
  const random = createRandom(26);
  const randomValues = (length) => Float32Array.from({ length }, () => random() - 0.5);
  const matrix = { values: randomValues(count * dimensions), dimensions };
  return { search: (request) => findNearest(matrix, normalizeVector(randomValues(dimensions)), request) };
}

function wordRequest(lore) {
  const { value: filter } = readFilter({ level: { $lt: 15 } }, undefined);
  return { query: lore.query(), match: 'words', topK: 3, minSimilarity: 0, filter, variables: {} };
}

async function measureQueries(bench, search) {
  const times = [];
  let found = 0;
  for (let query = 0; query < bench.repeats(400, 50); query++) {
    const start = performance.now();
    const result = await search();
    times.push(performance.now() - start);
    if (result.found) found++;
  }
  if (found < times.length / 2) throw new Error(`only ${found} of ${times.length} queries found anything`);
  return { median: median(times), p95: quantile(times, 0.95), queries: times.length };
}

/** The result of a task, its milliseconds, and for how many of them the event loop was held at once. */
async function whileMeasured(task) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const start = performance.now();
  const result = await task();
  const ms = performance.now() - start;
  delay.disable();
  return { result, figures: { ms, heldMs: delay.max / 1e6 } };
}

function usedBytes() {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
