// node scripts/demo-model/vocabulary.mjs [--documents N] [--out FILE] [--seed N]: learns the vocabulary from training text.
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createRng } from '../seededRandom.mjs';
import { readCatalogue } from './generate/catalogue.mjs';
import { documentsFrom } from './generate/documents.mjs';
import { textsOf } from './generate/encode.mjs';
import { phrases } from './generate/phrases.mjs';
import { countWords, learnVocabulary } from './generate/tokenizer.mjs';

const sizes = { size: 4096, spaced: 1300, capitals: 500 };
const { values } = parseArgs({
  options: {
    documents: { type: 'string', default: '12000' },
    out: { type: 'string', default: fileURLToPath(new URL('vocabulary.json', import.meta.url)) },
    seed: { type: 'string', default: '7' },
  },
});
const { toolDocument, talkDocument } = documentsFrom(readCatalogue(), createRng(Number(values.seed)));
const counts = new Map();
for (let index = 0; index < Number(values.documents); index++) {
  const { shared, branches } = textsOf(index % 8 === 0 ? talkDocument() : toolDocument());
  for (const text of [shared, ...branches.flat().map((part) => part.text)]) countWords(text, phrases, counts);
}
const merges = learnVocabulary(counts, { phrases, ...sizes });
writeFileSync(values.out, `${JSON.stringify({ phrases, merges }, null, 2)}\n`);
console.log(`${counts.size} different words, ${merges.length} merges, ${phrases.length} phrases: ${values.out}`);
