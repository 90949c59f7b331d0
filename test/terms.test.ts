import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

const filesIn = (folder: string, ending: RegExp): readonly string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => ending.test(file) && !file.includes('node_modules'))
    .map((file) => `${folder}/${file}`)
    .sort();
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

const sources = ['src', 'conformance'].flatMap((folder) => filesIn(folder, /(?<!\.gen)\.ts$/));
// Words of English as data, not words for something.
const wordLists = ['src/graph/retrieval/words/functionWords.ts'];
const docs = [
  ...filesIn('docs', /\.md$/).filter((file) => !file.startsWith('docs/api/')),
  'README.md',
  'CONTRIBUTING.md',
];

/** `file:line: text` of each line of the files that matches. */
const linesWith = (files: readonly string[], pattern: RegExp): readonly string[] =>
  files.flatMap((file) =>
    read(file)
      .split('\n')
      .flatMap((line, index) => (pattern.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [])),
  );

// Words that this code once had for terms of the field; the terms are in docs/contribute/glossary.md.
const retiredWords =
  /\b(?:pens?|seats?|breath|breathing|beside|displaced|put aside|brought back|nobody|somebody|whoever)\b/i;
const retiredFiles =
  /^(?:pen|boundPen|seats?|beside|tempo|disguise|wording|writing|leaving|waiting|joined|growing|breath|doubts|making|outflow|gathering|gate|shelf|rise|spelling|pause)\.ts$/;
const bareConstant =
  /^(?:export )?(?:const|let) (?:longest|shortest|most|fewest|least|kept|usual|enough|soon|seldom|rarely|wide|slow|better|crowded|never|nobody|nothing|told|others|mine|low|high)\b/;

// Terms that an engineer who knows llama.cpp, vLLM, Node and ws searches for.
const terms = [
  'prefill',
  'sampler',
  'constrained',
  'slot',
  'evict',
  'LRU',
  'swap',
  'prefix',
  'KV cache',
  'scheduler',
  'chat template',
  'detokenizer',
  'jump-forward',
  'token healing',
  'trigger',
  'backpressure',
  'queue',
  'retry',
  'backoff',
  'throttle',
  'lock file',
  'manifest',
  'atomic',
];

describe('the words of the code', () => {
  it('use no retired word', () => {
    const files = sources.filter((file) => !wordLists.includes(file));
    expect(linesWith(files, retiredWords)).toEqual([]);
    expect(sources.filter((file) => retiredFiles.test(basename(file)))).toEqual([]);
  });

  it('use no retired word in the guides', () => {
    expect(linesWith(docs, /\b(?:pens?|seats?|breath|displaced|put aside|brought back)\b/i)).toEqual([]);
  });

  it('name each exported type once', () => {
    const files = new Map<string, string[]>();
    for (const file of filesIn('src', /\.ts$/)) {
      for (const [, name = ''] of read(file).matchAll(/^export (?:abstract )?(?:interface|type|class) (\w+)/gm))
        files.set(name, [...(files.get(name) ?? []), file]);
    }
    expect([...files].filter(([, places]) => places.length > 1)).toEqual([]);
  });

  it('name no constant by an adjective alone', () => {
    expect(linesWith(sources, bareConstant)).toEqual([]);
  });

  it.each(terms)('can be searched for: %s', (term) => {
    const pattern = new RegExp(term, 'i');
    expect(sources.filter((file) => pattern.test(read(file)))).not.toEqual([]);
  });

  it.each(['backpressure', 'slot', 'prefix', 'kv cache', 'retry', 'constrained', 'chat template', 'evict', 'swap'])(
    'can be searched for in the guides: %s',
    (term) => {
      expect(docs.filter((file) => read(file).toLowerCase().includes(term))).not.toEqual([]);
    },
  );
});
