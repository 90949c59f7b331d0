// node scripts/demo-model/export.mjs --tensors DIR --corpus DIR --out FILE: writes the GGUF file of the demo model from
// the tensors of train/tensors.py, the vocabulary of the corpus and the chat template.
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { createHeader } from '../gguf/header.mjs';
import { padded } from '../gguf/values.mjs';
import { chatTemplate } from './generate/prompts.mjs';
import { createVocabulary } from './generate/tokenizer.mjs';

const { values } = parseArgs({
  options: { tensors: { type: 'string' }, corpus: { type: 'string' }, out: { type: 'string' } },
});
if (!values.tensors || !values.corpus || !values.out)
  throw new Error('--tensors and --corpus name folders, --out the file to write');
const json = (file) => JSON.parse(readFileSync(file, 'utf8'));
const { width, layers, heads, hidden, type } = json(`${values.tensors}/shape.json`);
const { gguf: vocab } = createVocabulary(json(`${values.corpus}/vocabulary.json`));
const { head, tensors } = createHeader({
  architecture: 'llama',
  name: 'turngraph-demo',
  width,
  layers,
  heads,
  kvHeads: heads,
  hidden,
  contextLength: 2048,
  weights: type,
  vocab,
  chatTemplate,
});
const blobs = tensors.map(({ name, bytes }) => {
  const blob = readFileSync(`${values.tensors}/${name}`);
  if (blob.length !== bytes) throw new Error(`${name} has ${blob.length} bytes, not ${bytes}`);
  return padded(blob);
});
const file = Buffer.concat([head, ...blobs]);
writeFileSync(values.out, file);
console.log(`${values.out}: ${file.length} bytes, ${type}`);
