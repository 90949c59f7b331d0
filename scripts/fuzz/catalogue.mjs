// Fuzzes the reader of models.json with mutated catalogues. Reading must return models whose files stay in their folders and
// problems with line and column, or throw the documented error; and it must not take long.
import { isAbsolute, normalize } from 'node:path';
import { below, pick, createRandom } from '../seededRandom.mjs';

export const name = 'catalogue';

// Far more than reading needs, so that a busy machine causes no failure.
const maxReadMs = 5000;

/**
 * Fuzzes the built reader.
 * @param {{ count: number, seed: number, log?: (line: string) => void }} run
 * @throws {Error} At the first input that fails, which is its message.
 */
export async function fuzz({ count, seed, log = () => {} }) {
  const { parseCatalogue } = await import('../../dist/inference/models/catalogue/catalogue.js');
  const { read, faults, problems } = fuzzTarget({ parseCatalogue }, { count, seed });
  log(`${count} inputs: ${read} were read, with ${problems} problems; ${faults} were refused`);
}

/**
 * Reads `count` mutated catalogues and counts the outcomes.
 * @param {{ parseCatalogue: typeof import('../../src/inference/models/catalogue/catalogue.ts').parseCatalogue }} target
 * @param {{ count: number, seed: number }} run
 * @throws {Error} At the first input that fails, which is its message.
 */
export function fuzzTarget({ parseCatalogue }, { count, seed }) {
  const random = createRandom(seed);
  const tally = { read: 0, faults: 0, problems: 0 };
  for (let index = 0; index < count; index++) {
    const text = createInput(random);
    const start = performance.now();
    try {
      const catalogue = readOrRefuse(parseCatalogue, text);
      if (catalogue) check(catalogue);
      tally[catalogue ? 'read' : 'faults']++;
      tally.problems += catalogue?.problems.length ?? 0;
      if (performance.now() - start > maxReadMs) throw new Error(`it took ${performance.now() - start} ms`);
    } catch (error) {
      throw new Error(`input ${index} of seed ${seed}: ${JSON.stringify(text.slice(0, 2000))}`, { cause: error });
    }
  }
  return tally;
}

function readOrRefuse(parseCatalogue, text) {
  try {
    return parseCatalogue(text, 'models.json');
  } catch (error) {
    if (error?.name !== 'UNKNOWN_MODEL' || error.code !== 6007) throw error;
    if (!errorWithPlace.test(error.message))
      throw new Error(`a refusal without a place: ${error.message}`, { cause: error });
    return undefined;
  }
}

const errorWithPlace = /^models\.json:[1-9]\d*:[1-9]\d*: \S/;

function check({ models, problems }) {
  for (const problem of problems) {
    if (!errorWithPlace.test(problem) || !/: \/models\/\d/.test(problem))
      throw new Error(`a problem without a place: ${problem}`);
  }
  for (const [name, model] of models) {
    if (name === '' || model.name !== name) throw new Error(`a model under another name: ${name}`);
    if (model.variants.length === 0) throw new Error(`a model without variants: ${name}`);
    for (const { engine, files } of model.variants) {
      if (engine !== 'llama-cpp') throw new Error(`an engine that is not here: ${engine}`);
      if (files.length === 0 || files.some(escapes)) throw new Error(`files that escape: ${JSON.stringify(files)}`);
    }
  }
}

const escapes = (file) =>
  file === '' ||
  isAbsolute(file) ||
  /[\\:\0]/.test(file) ||
  normalize(file).split('/')[0] === '..' ||
  file !== normalize(file);

const times = (count, make) => Array.from({ length: count }, make);

function createInput(random) {
  const roll = random();
  if (roll < 0.02) return randomText(random);
  if (roll < 0.03) return deeplyNested(random);
  const document = { $schema: './models.schema.json', models: times(1 + below(random, 4), () => goodModel(random)) };
  const value = random() < 0.7 ? mutatedValue(document, random) : document;
  const text = JSON.stringify(value, null, pick(random, [undefined, 2, '\t'])) ?? '';
  return random() < 0.4 ? mutatedText(text, random) : text;
}

const goodModel = (random) => ({
  name: pick(random, ['a', 'b', 'Qwen2.5 3B Instruct (Q4_K_M)', 'Grüße 世界 👋🏽', 'constructor']),
  description: pick(random, ['', 'Small and quick.']),
  tool_call_format: pick(random, ['', 'chatml', 'llama3']),
  default_sampling: { temperature: random() * 2, top_p: 0.9, top_k: 40, stop: ['</s>'] },
  variants: times(1 + below(random, 2), () => ({
    engine: pick(random, ['llama-cpp', 'llama-cpp', 'llama-cpp', 'mlx']),
    [pick(random, ['local_path', 'huggingface_repo'])]: pick(random, ['someone/something', 'a/b.c-d_e']),
    revision: 'main',
    files: pick(random, [['x.gguf'], ['a/b-00001-of-00002.gguf', 'a/b-00002-of-00002.gguf']]),
    context_size: 8192,
    kv_cache_type: pick(random, ['f16', 'q8_0']),
    size_bytes: 1,
    license: 'MIT',
  })),
});

const randomText = (random) => String.fromCharCode(...times(below(random, 64), () => below(random, 256)));
const deeplyNested = (random) =>
  pick(random, ['[', '{"models":[', '{"models":', '{"a":{']).repeat(below(random, 20_000));

const wrongValues = [
  null,
  true,
  -1,
  0.5,
  2 ** 60,
  1e300,
  '',
  'one',
  'a'.repeat(3000),
  [],
  [null],
  {},
  { a: 1 },
  [[[[]]]],
];
const paths = [
  '..',
  '../x',
  '/x',
  'a/../../x',
  './x',
  'a//b',
  'C:\\x',
  '..\\x',
  'a\0b',
  'x/',
  'x/.',
  '.../x',
  '~',
  'x..gguf',
];
const names = ['__proto__', 'constructor', 'toString', 'name', 'files', 'contextSize', 'models', 'a~/b', ''];

// Replaces values; renames, removes and inserts fields.
function mutatedValue(value, random, depth = 0) {
  if (depth > 0 && random() < 0.04) return pick(random, random() < 0.5 ? wrongValues : paths);
  if (Array.isArray(value)) return value.map((item) => mutatedValue(item, random, depth + 1));
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).flatMap(([key, item]) => {
    const roll = random();
    if (roll < 0.02) return [];
    if (roll < 0.04) return [[pick(random, [...names, `${key}s`]), item]];
    const inner = [key, mutatedValue(item, random, depth + 1)];
    return roll < 0.05 ? [inner, [pick(random, names), item]] : [inner];
  });
  return Object.fromEntries(fields);
}

const inserts = [
  '{',
  '}',
  '[',
  ']',
  '"',
  "'",
  ',',
  ':',
  '\\',
  '\n',
  '\0',
  '﻿',
  '\u2028',
  '\ud800',
  '//',
  '/*',
  '*/',
  '#',
  'null',
  'NaN',
  '01',
  '-',
  '1e',
  '1e999',
  '\\u00',
  '"a":1,',
  '"name":"a",',
  ',,',
  '{}',
  '"__proto__":{},',
  '\xA0',
];

const changes = [
  (text, at, random) => text.slice(0, at) + String.fromCharCode(below(random, 128)) + text.slice(at + 1),
  (text, at, random) => text.slice(0, at) + pick(random, inserts) + text.slice(at),
  (text, at, random) => text.slice(0, at) + pick(random, inserts).repeat(below(random, 50)) + text.slice(at),
  (text, at) => text.slice(0, at),
  (text, at, random) => text.slice(0, at) + text.slice(at + 1 + below(random, 12)),
  (text, at, random) =>
    text.slice(0, at) + text.slice(at, at + below(random, 80)).repeat(1 + below(random, 3)) + text.slice(at),
  (text, at) => text.slice(at) + text.slice(0, at),
  (text) => `\uFEFF${text}`,
];

function mutatedText(text, random) {
  let changed = text;
  for (let left = 1 + below(random, 4); left > 0; left--) {
    changed = pick(random, changes)(changed, below(random, changed.length + 1), random);
  }
  return changed;
}
