// node scripts/demo-model/corpus.mjs --out DIR [--tokens N] [--vocabulary FILE] [--seed N]: writes the training corpus as
// tokens, in training order, and a held-out corpus. The same seed writes the same text. With --place (0 to 1) all documents
// are those of that point of the curriculum; four numbers set it for each quarter.
import { once } from 'node:events';
import { createWriteStream, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createRng } from '../seededRandom.mjs';
import { readCatalogue } from './generate/catalogue.mjs';
import { createRecords } from './generate/curriculum.mjs';
import { documentsFrom } from './generate/documents.mjs';
import { findProblems } from './generate/validateText.mjs';
import { createVocabulary } from './generate/tokenizer.mjs';

const { values } = parseArgs({
  options: {
    out: { type: 'string' },
    tokens: { type: 'string', default: '160e6' },
    vocabulary: { type: 'string', default: fileURLToPath(new URL('vocabulary.json', import.meta.url)) },
    place: { type: 'string' },
    seed: { type: 'string', default: '1' },
  },
});
if (!values.out) throw new Error('--out names the folder that the text is written into');
const seed = Number(values.seed);
const tokens = Number(values.tokens);
const places = values.place?.split(',').map(Number);
if (places?.some((place) => !(place >= 0 && place <= 1)))
  throw new Error(`--place is from 0 to 1, not ${values.place}`);
const catalogue = readCatalogue();
const problems = findProblems(catalogue);
if (problems.length > 0) throw new Error(`the text has problems:\n${problems.join('\n')}`);
const learnt = JSON.parse(readFileSync(values.vocabulary, 'utf8'));
const vocabulary = createVocabulary(learnt);

// The corpus in quarters, each with a random generator of its own, so that no quarter depends on those before it: a later one
// can be written alone, and the end of the curriculum can change while its beginning stays the same to the byte.
const quarters = [0.25, 0.5, 0.75, 1];

mkdirSync(values.out, { recursive: true });
writeFileSync(`${values.out}/vocabulary.json`, JSON.stringify({ ...learnt, ties: vocabulary.ties }));

await write('held', Math.min(60_000, tokens), { seed: seed + 1_000_000, places: [1] });
await write('train', tokens, { seed, places });

async function write(part, size, { seed: partSeed, places }) {
  const file = `${values.out}/${part}.bin`;
  const stream = createWriteStream(file);
  let written = 0;
  for (const [number, until] of quarters.entries()) {
    const place = places && (places[number] ?? places.at(-1));
    const progress = () => place ?? written / size;
    const rng = createRng(partSeed + number * 1_000_000_000);
    const source = createRecords(documentsFrom(catalogue, rng, part), { vocabulary, rng, progress });
    while (written < until * size) {
      const record = source.next().value;
      written += record[0];
      if (!stream.write(record)) await once(stream, 'drain');
    }
  }
  stream.end();
  await once(stream, 'finish');
  console.log(`${file}: ${written} tokens`);
}
