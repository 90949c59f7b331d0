// node scripts/demo-model/corpus.mjs --out DIR [--tokens N] [--vocabulary FILE] [--seed N]: writes the training text as
// tokens, in the order in which the model reads it, and a text of the held-out part beside it. The same seed writes the
// same text. With --place (0 to 1) all of it is as it would be at that place of the course, or with four numbers each quarter.
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
const faults = findProblems(catalogue);
if (faults.length > 0) throw new Error(`the text cannot be read:\n${faults.join('\n')}`);
const learnt = JSON.parse(readFileSync(values.vocabulary, 'utf8'));
const vocabulary = createVocabulary(learnt);

// The text in quarters, each drawn from a chance of its own. So no quarter depends on those before it: a later one can be
// written without them, and the end of the course can change while its beginning stays the same to the byte.
const quarters = [0.25, 0.5, 0.75, 1];

mkdirSync(values.out, { recursive: true });
writeFileSync(`${values.out}/vocabulary.json`, JSON.stringify({ ...learnt, ties: vocabulary.ties }));

await write('held', Math.min(60_000, tokens), { seed: seed + 1_000_000, places: [1] });
await write('train', tokens, { seed, places });

async function write(part, wanted, { seed: of, places }) {
  const file = `${values.out}/${part}.bin`;
  const stream = createWriteStream(file);
  let written = 0;
  for (const [number, until] of quarters.entries()) {
    const place = places && (places[number] ?? places.at(-1));
    const progress = () => place ?? written / wanted;
    const rng = createRng(of + number * 1_000_000_000);
    const source = createRecords(documentsFrom(catalogue, rng, part), { vocabulary, rng, progress });
    while (written < until * wanted) {
      const record = source.next().value;
      written += record[0];
      if (!stream.write(record)) await once(stream, 'drain');
    }
  }
  stream.end();
  await once(stream, 'finish');
  console.log(`${file}: ${written} tokens`);
}
