// node scripts/evals/recall.mjs --embedding NAME [OPTIONS]: asks questions about entries of a lore, and prints for how many the
// right entry is the first hit, and one of three: by words, by vectors, by both.
//   in other words  100 questions that share no telling word with their entry (test/fixtures/paraphrases.txt)
//   in its words    50 questions about graphs/lore/pellmoor.kb.json, 20 of them misspelt (test/fixtures/loreQuestions.json)
//   --catalogue FILE --threads N    as in `npm run eval:tools`
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { exitWithUsageError, readArguments } from '../options.mjs';
import { serverOptions, withClient } from './evalServer.mjs';

const readRepositoryFile = (path) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');

/**
 * The two lores, each with its questions.
 * @returns {Promise<readonly { readonly name: string, readonly records: readonly { readonly id: string, readonly text: string }[],
 *   readonly questions: readonly { readonly query: string, readonly id: string }[] }[]>}
 */
export async function readLores() {
  const lines = (await readRepositoryFile('test/fixtures/paraphrases.txt')).split('\n');
  const pairs = lines.filter((line) => line.includes('|')).map((line) => line.split(' | '));
  const { records } = JSON.parse(await readRepositoryFile('graphs/lore/pellmoor.kb.json'));
  const asked = JSON.parse(await readRepositoryFile('test/fixtures/loreQuestions.json'));
  return [
    {
      name: 'in other words',
      records: pairs.map(([text], index) => ({ id: String(index), text })),
      questions: pairs.map(([, query], index) => ({ query, id: String(index) })),
    },
    {
      name: 'in its words',
      records: records.map(({ id, text }) => ({ id, text })),
      questions: [...asked.plain, ...asked.misspelled, ...asked.other_forms],
    },
  ];
}

/**
 * Searches a lore for each of its questions.
 * @param {import('../../src/client/index.ts').Client} client
 * @param {Awaited<ReturnType<typeof readLores>>[number]} lore
 * @param {string} folder the storage folder of the server, into which the lore is written.
 * @param {string} embeddingModel its name in the catalogue.
 * @returns {Promise<Readonly<Record<'words' | 'vectors' | 'both', { readonly first: number, readonly amongThree: number }>>>}
 */
export async function measureRecall(client, { name, records, questions }, folder, embeddingModel) {
  const file = `${name.replaceAll(' ', '-')}.kb.json`;
  await writeFile(join(folder, file), JSON.stringify({ embedding_model: embeddingModel, records }));
  const recall = async (match) => {
    const counts = { first: 0, amongThree: 0 };
    for (const { query, id } of questions) {
      const { hits } = await client.searchStorage({ name: file, query, match, topK: 3 });
      counts.first += Number(hits[0]?.id === id);
      counts.amongThree += Number(hits.some((hit) => hit.id === id));
    }
    return counts;
  };
  return { words: await recall('words'), vectors: await recall('vectors'), both: await recall('both') };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { values: options } = readArguments({ options: { ...serverOptions, embedding: { type: 'string' } } });
  const { embedding } = options;
  if (!embedding) exitWithUsageError('give --embedding NAME, an embedding model of the catalogue');
  const storageRoot = await mkdtemp(join(tmpdir(), 'turngraph-recall-'));
  await withClient({ ...options, model: embedding, storageRoot }, async (client) => {
    for (const lore of await readLores())
      console.log(JSON.stringify({ lore: lore.name, ...(await measureRecall(client, lore, storageRoot, embedding)) }));
  });
  await rm(storageRoot, { recursive: true });
}
