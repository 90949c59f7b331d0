import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fuzzTarget } from '../../../../../scripts/fuzz/catalogue.mjs';
import type { Fault } from '../../../../../src/protocol/fault.ts';
import { parseCatalogue, readCatalogue } from '../../../../../src/inference/models/catalogue/catalogue.ts';
import { isWhole } from '../../../../helpers/depth.ts';

/** A catalogue with one model per line, of which the last is valid. */
const withModels = (...models: readonly string[]): string =>
  `{\n  "models": [\n${[...models, model('good')].join(',\n')}\n  ]\n}\n`;
const variant = (members = ''): string => `{ "engine": "llama-cpp", "files": ["x.gguf"]${members} }`;
const model = (name: string, members = '', variants = variant()): string =>
  `{ "name": "${name}", "variants": [${variants}]${members} }`;
const inVariant = (members: string): string => withModels(model('bad', '', variant(`, ${members}`)));
const withFile = (file: string): string =>
  withModels(model('bad', '', `{ "engine": "llama-cpp", "files": ["a.gguf", ${file}] }`));
const withSampling = (members: string): string => withModels(model('bad', `, "default_sampling": { ${members} }`));

const catchFault = (text: string): Fault => {
  try {
    parseCatalogue(text, 'models.json');
  } catch (error) {
    return error as Fault;
  }
  throw new Error('the catalogue was read');
};

/** What is invalid, a catalogue with it, and the problem that is reported, starting with its line. */
type Row = readonly [what: string, text: string, problem: string];

describe('a catalogue with an invalid entry', () => {
  it.each<Row>([
    // The entry itself.
    ['a number for a model', withModels('4711'), '3:1: /models/0 must be an object, not 4711'],
    ['null for a model', withModels('null'), '3:1: /models/0 must be an object, not null'],
    ['a list for a model', withModels('[]'), '3:1: /models/0 must be an object, not []'],
    ['no name', withModels(`{ "variants": [${variant()}] }`), '3:1: /models/0/name is missing'],
    ['an empty name', withModels(model('')), '3:3: /models/0/name must not be empty'],
    [
      'a number for a name',
      withModels(`{ "name": 1, "variants": [${variant()}] }`),
      '3:3: /models/0/name must be a string, not 1',
    ],
    ['no variants', withModels('{ "name": "bad" }'), '3:1: /models/0/variants is missing'],
    ['an empty list of variants', withModels(model('bad', '', '')), '3:18: /models/0/variants must not be empty'],
    [
      'an object for variants',
      withModels(`{ "name": "bad", "variants": ${variant()} }`),
      '3:18: /models/0/variants must be an array, not {"engine":"llama-cpp","files":["x.gguf"]}',
    ],
    [
      'an unknown field',
      withModels(model('bad', ', "descripton": ""')),
      '3:80: /models/0/descripton is not known here; did you mean "description"?',
    ],
    [
      'an unknown field without a similar one',
      withModels(model('bad', ', "zzz": 1')),
      '3:80: /models/0/zzz is not known here',
    ],
    [
      'a field like a part of JavaScript',
      withModels(model('bad', ', "__proto__": 1')),
      '3:80: /models/0/__proto__ is not known here',
    ],
    [
      'a format that is no string',
      withModels(model('bad', ', "tool_call_format": ["chatml"]')),
      '3:80: /models/0/tool_call_format must be a string, not ["chatml"]',
    ],
    // Its variants.
    [
      'a string for a variant',
      withModels(model('bad', '', '"x.gguf"')),
      '3:31: /models/0/variants/0 must be an object, not "x.gguf"',
    ],
    [
      'no engine',
      withModels(model('bad', '', '{ "files": ["x.gguf"] }')),
      '3:31: /models/0/variants/0/engine is missing',
    ],
    [
      'a misspelt engine',
      withModels(model('bad', '', '{ "engine": "llama.cpp", "files": ["x.gguf"] }')),
      '3:33: /models/0/variants/0/engine must be one of "llama-cpp", "llama-server", "http", not "llama.cpp"; did you mean "llama-cpp"?',
    ],
    [
      'no files',
      withModels(model('bad', '', '{ "engine": "llama-cpp" }')),
      '3:31: /models/0/variants/0/files is missing',
    ],
    [
      'an empty list of files',
      withModels(model('bad', '', '{ "engine": "llama-cpp", "files": [] }')),
      '3:56: /models/0/variants/0/files must not be empty',
    ],
    [
      'one file instead of a list',
      withModels(model('bad', '', '{ "engine": "llama-cpp", "files": "x.gguf" }')),
      '3:56: /models/0/variants/0/files must be an array, not "x.gguf"',
    ],
    [
      'an inference server without an address',
      withModels(model('bad', '', '{ "engine": "http", "api": "llama-server" }')),
      '3:31: /models/0/variants/0/base_url is missing',
    ],
    [
      'an inference server of an unknown kind',
      withModels(model('bad', '', '{ "engine": "http", "api": "ollama", "base_url": "http://10.0.0.5:8080" }')),
      '3:51: /models/0/variants/0/api must be one of "llama-server", "openai", not "ollama"',
    ],
    [
      'a password in an address',
      withModels(model('bad', '', '{ "engine": "http", "api": "llama-server", "base_url": "http://me:key@host" }')),
      '3:74: /models/0/variants/0/base_url must fit (http://HOST:PORT, without a name, a password or a query',
    ],
    [
      'files of an inference server',
      withModels(
        model('bad', '', '{ "engine": "http", "api": "llama-server", "base_url": "http://host", "files": ["x.gguf"] }'),
      ),
      '3:101: /models/0/variants/0/files is for the engine llama-cpp: remove it, or name that engine',
    ],
    [
      'an address for files',
      inVariant('"base_url": "http://host"'),
      '3:77: /models/0/variants/0/base_url is for the engine http: remove it, or name that engine',
    ],
    ['a number for a file', withFile('1'), '3:76: /models/0/variants/0/files/1 must be a string, not 1'],
    [
      'a misspelt field',
      inVariant('"context_sice": 1'),
      '3:77: /models/0/variants/0/context_sice is not known here; did you mean "context_size"?',
    ],
    [
      'a negative context',
      inVariant('"context_size": -1'),
      '3:77: /models/0/variants/0/context_size must be >= 0, not -1',
    ],
    [
      'half a token',
      inVariant('"context_size": 0.5'),
      '3:77: /models/0/variants/0/context_size must be an integer, not 0.5',
    ],
    [
      'a context in words',
      inVariant('"context_size": "8k"'),
      '3:77: /models/0/variants/0/context_size must be an integer (Tokens), not "8k"',
    ],
    [
      'an unknown cache type',
      inVariant('"kv_cache_type": "q80"'),
      '3:77: /models/0/variants/0/kv_cache_type must be one of "f16", "q8_0", "q4_0", not "q80"; did you mean "q8_0"?',
    ],
    [
      'an unknown backend',
      inVariant('"gpu": "opencl"'),
      '3:77: /models/0/variants/0/gpu must be one of "auto", "off", "vulkan", "cuda", "metal", not "opencl"',
    ],
    [
      'layers in words',
      inVariant('"gpu_layers": "all"'),
      '3:77: /models/0/variants/0/gpu_layers must be an integer or "auto", not "all"',
    ],
    [
      'a hash that is none',
      inVariant('"sha256": "abc"'),
      '3:77: /models/0/variants/0/sha256 must fit (Hash of the file, 64 of 0-9 a-f, where it is a single one; absent = as the repository reports.), not "abc"',
    ],
    ['no bytes', inVariant('"size_bytes": 0'), '3:77: /models/0/variants/0/size_bytes must be >= 1, not 0'],
    [
      'a repository that is a URL',
      inVariant('"huggingface_repo": "https://example.com/a/b"'),
      '3:77: /models/0/variants/0/huggingface_repo must fit',
    ],
    [
      'a repository without owner',
      inVariant('"huggingface_repo": "b"'),
      '3:77: /models/0/variants/0/huggingface_repo must fit',
    ],
    [
      'a repository that leads away',
      inVariant('"huggingface_repo": "a/.."'),
      '3:77: /models/0/variants/0/huggingface_repo must fit',
    ],
    [
      'a revision that leaves the repository',
      inVariant('"revision": "x/../y"'),
      '3:77: /models/0/variants/0/revision must fit',
    ],
    ['an empty local path', inVariant('"local_path": ""'), '3:77: /models/0/variants/0/local_path must not be empty'],
    [
      'a hash of two files',
      withModels(model('bad', '', `{ "engine": "llama-cpp", "files": ["a", "b"], "sha256": "${'0'.repeat(64)}" }`)),
      '3:77: /models/0/variants/0/sha256 is the hash of one file, but the variant has 2',
    ],
    // Files that escape.
    ...['../x.gguf', 'a/../x.gguf', '..', '.', './x.gguf', 'a/..', '/etc/passwd', 'a//x.gguf', 'a/', ''].map(
      (file) =>
        [`the file "${file}"`, withFile(JSON.stringify(file)), '3:76: /models/0/variants/0/files/1 must fit'] as const,
    ),
    ...['C:x.gguf', 'C:\\x.gguf', '..\\x.gguf', 'a\\..\\x.gguf', 'a\0.gguf', 'a\n.gguf', '\\\\host\\x'].map(
      (file) =>
        [
          `the file ${JSON.stringify(file)}`,
          withFile(JSON.stringify(file)),
          '3:76: /models/0/variants/0/files/1 must fit',
        ] as const,
    ),
    // Files that are others, or none, on Windows.
    ...(
      [
        ['CON', 'has "CON" in it, which is a device on Windows'],
        ['NUL.gguf', 'has "NUL.gguf" in it, which is a device on Windows'],
        ['x.gguf.', 'has "x.gguf." in it: Windows drops a dot or space at the end of a name'],
        ['a./x.gguf', 'has "a." in it: Windows drops a dot or space at the end of a name'],
        ['.. /x.gguf', 'has ".. " in it: Windows drops a dot or space at the end of a name'],
        ['a?.gguf', 'has "?" in it, which no file name on Windows can have'],
      ] as const
    ).map(
      ([file, reason]) =>
        [`the file "${file}"`, withFile(JSON.stringify(file)), `3:76: /models/0/variants/0/files/1 ${reason}`] as const,
    ),
    [
      'a repository that is a device on Windows',
      inVariant('"huggingface_repo": "ann/nul"'),
      '3:77: /models/0/variants/0/huggingface_repo has "nul" in it, which is a device on Windows',
    ],
    [
      'a revision that ends with a dot',
      inVariant('"revision": "v1."'),
      '3:77: /models/0/variants/0/revision has "@v1." in it: Windows drops a dot or space at the end of a name',
    ],
    [
      'a file name without end',
      withFile(`"${'x'.repeat(201)}"`),
      '3:76: /models/0/variants/0/files/1 must have at most 200 characters',
    ],
    // Its sampling.
    [
      'a list for the sampling',
      withModels(model('bad', ', "default_sampling": []')),
      '3:80: /models/0/default_sampling must be an object, not []',
    ],
    [
      'an unknown knob',
      withSampling('"temprature": 1'),
      '3:102: /models/0/default_sampling/temprature is not known here; did you mean "temperature"?',
    ],
    [
      'heat beyond bounds',
      withSampling('"temperature": 6'),
      '3:102: /models/0/default_sampling/temperature must be <= 5, not 6',
    ],
    [
      'a share above one',
      withSampling('"top_p": 1.1'),
      '3:102: /models/0/default_sampling/top_p must be <= 1, not 1.1',
    ],
    [
      'a language that there is not',
      withModels(model('bad', ', "languages": "en xx"')),
      '3:80: /models/0/languages has "xx", which is no code of ISO 639; write codes such as "en de"',
    ],
    [
      'a fraction of tokens',
      withSampling('"top_k": 2.5'),
      '3:102: /models/0/default_sampling/top_k must be an integer, not 2.5',
    ],
    [
      'a penalty of zero',
      withSampling('"repeat_penalty": 0'),
      '3:102: /models/0/default_sampling/repeat_penalty must be >= 0.01, not 0',
    ],
    ...['top_k', 'max_tokens', 'max_tokens_per_second', 'seed'].map(
      (knob) =>
        [
          `more for ${knob} than a frame can tell clients`,
          withSampling(`"${knob}": 4294967296`),
          `3:102: /models/0/default_sampling/${knob} must be <= 4294967295, not 4294967296`,
        ] as const,
    ),
    [
      'a context that no frame can tell clients of',
      inVariant('"context_size": 5e9'),
      '3:77: /models/0/variants/0/context_size must be <= 4294967295, not 5000000000',
    ],
    ['no tokens', withSampling('"max_tokens": 0'), '3:102: /models/0/default_sampling/max_tokens must be >= 1, not 0'],
    [
      'a string for stop',
      withSampling('"stop": "x"'),
      '3:102: /models/0/default_sampling/stop must be an array, not "x"',
    ],
    [
      'a name of two lines',
      withModels(model('bad\\nname')),
      '3:3: /models/0/name must fit (Unique, in one line; used everywhere.), not "bad\\nname"',
    ],
    // Duplicates.
    [
      'a file twice',
      withFile('"a.gguf"'),
      '3:56: /models/0/variants/0/files must not have an item twice: ["a.gguf","a.gguf"]',
    ],
    [
      'a field twice',
      withModels(model('bad', ', "name": "worse"')),
      '3:80: /models/0/name is a duplicate key: an object can have "name" only once',
    ],
    ['a field of a variant twice', inVariant('"files": ["y"]'), '3:77: /models/0/variants/0/files is a duplicate key'],
  ])('reports %s, and contains the other models', (_, text, problem) => {
    const { models, problems } = parseCatalogue(text, 'models.json');
    expect([...models.keys()]).toEqual(['good']);
    expect(problems).toEqual([expect.stringContaining(`models.json:${problem}`)]);
  });

  it('reports all its problems', () => {
    const text = withModels(model('bad', ', "a": 1, "b": 2'), '{}');
    expect(parseCatalogue(text, 'm.json').problems).toEqual([
      'm.json:3:80: /models/0/a is not known here',
      'm.json:3:88: /models/0/b is not known here',
      'm.json:4:1: /models/1/name is missing',
      'm.json:4:1: /models/1/variants is missing',
    ]);
  });

  it('contains the first of two models with the same name', () => {
    const { models, problems } = parseCatalogue(withModels(model('good', ', "description": "first"')), 'm.json');
    expect(models.get('good')?.description).toBe('first');
    expect(problems).toEqual(['m.json:4:3: /models/1/name is a duplicate: "good"; the entry at 3:3 is used']);
  });
});

describe('an embedding model', () => {
  const embedding = (members: string, variants?: string): string =>
    withModels(model('bad', `, "purpose": "embedding"${members}`, variants));

  it('has prefixes for queries and documents, "" where none is given', () => {
    const prefixes = ', "embedding": { "query_prefix": "query: " }';
    const { models, problems } = parseCatalogue(embedding(prefixes), 'models.json');
    expect(problems).toEqual([]);
    expect(models.get('bad')).toMatchObject({
      purpose: 'embedding',
      embedding: { query_prefix: 'query: ', document_prefix: '' },
    });
    expect(models.get('good')).toMatchObject({ purpose: 'chat' });
  });

  it.each([
    ['an unknown purpose', withModels(model('bad', ', "purpose": "search"')), '/purpose must be'],
    [
      'prefixes of a chat model',
      withModels(model('bad', ', "embedding": {}')),
      '/embedding is for embedding models: remove it, or add "purpose": "embedding"',
    ],
    ['a tool-call format', embedding(', "tool_call_format": "chatml"'), '/tool_call_format is for chat models'],
    ['sampling', embedding(', "default_sampling": {}'), '/default_sampling is for chat models'],
    [
      'inference servers',
      embedding('', '{ "engine": "http", "api": "llama-server", "base_url": "http://127.0.0.1:1" }'),
      '/variants/0/engine is http, which computes no embeddings: use the engine llama-cpp',
    ],
  ])('is refused with %s', (_, text, problem) => {
    const { models, problems } = parseCatalogue(text, 'models.json');
    expect(problems.join()).toContain(`/models/0${problem}`);
    expect([...models.keys()]).toEqual(['good']);
  });
});

describe('an unreadable catalogue', () => {
  it.each<Row>([
    ['is empty', '', '1:1: the catalogue is not valid JSON: value expected'],
    ['is a word', 'models', '1:1: the catalogue is not valid JSON: invalid symbol'],
    ['ends too early', '{\n  "models": [', '2:14: the catalogue is not valid JSON: '],
    [
      'has a comma too many',
      '{\n  "models": [\n  ],\n}',
      '3:4: the catalogue is not valid JSON: a trailing comma is not allowed',
    ],
    [
      'has a comma too many in a list',
      '{ "models": [{},\n] }',
      '1:16: the catalogue is not valid JSON: a trailing comma is not allowed',
    ],
    [
      'has a comma too few',
      '{\n  "$schema": ""\n  "models": [] }',
      '3:3: the catalogue is not valid JSON: comma expected',
    ],
    ['has a comment', '{\n  // mine\n  "models": [] }', '2:3: the catalogue is not valid JSON: JSON has no comments'],
    [
      'has a comment at its end',
      '{ "models": [] } /* so */',
      '1:18: the catalogue is not valid JSON: JSON has no comments',
    ],
    ['has single quotes', "{ 'models': [] }", '1:3: the catalogue is not valid JSON: invalid symbol'],
    ['has a name without quotes', '{ models: [] }', '1:3: the catalogue is not valid JSON: invalid symbol'],
    ['has a line break in a string', '{ "models\n": [] }', '1:3: the catalogue is not valid JSON: '],
    ['has a number with a zero before it', '{ "models": [01] }', '1:15: the catalogue is not valid JSON: '],
    ['has no JSON number', '{ "models": [NaN] }', '1:14: the catalogue is not valid JSON: invalid symbol'],
    ['goes on after its end', '{ "models": [] }\n}', '2:1: the catalogue is not valid JSON: end of file expected'],
    ['is a list', '[]', '1:1: the catalogue must be an object, not []'],
    ['is null', 'null', '1:1: the catalogue must be an object, not null'],
    ['has no models', '{}', '1:1: /models is missing'],
    ['has misspelt its models', '{\n  "modles": [] }', '2:3: /modles is not known here; did you mean "models"?'],
    ['has an object for models', '{\n  "models": {} }', '2:3: /models must be an array, not {}'],
    ['has a number for its schema', '{ "$schema": 1, "models": [] }', '1:3: /$schema must be a string, not 1'],
    [
      'has its models twice',
      '{ "models": [],\n  "models": [] }',
      '2:3: /models is a duplicate key: an object can have "models" only once',
    ],
    [
      'is nested too deeply',
      '{"models":'.repeat(100_000) + '[]' + '}'.repeat(100_000),
      '1:1: the catalogue is nested too deeply',
    ],
  ])('that %s is rejected with the location', (_, text, why) => {
    expect(catchFault(text)).toMatchObject({
      name: 'UNKNOWN_MODEL',
      message: expect.stringContaining(`models.json:${why}`),
    });
  });

  it('may begin with a byte order mark', () => {
    expect([...parseCatalogue(`\uFEFF${withModels()}`, 'm.json').models.keys()]).toEqual(['good']);
    expect(catchFault('\uFEFF{,}').message).toContain('models.json:1:2: ');
  });
});

describe('the file of a catalogue', () => {
  let folder: string;
  beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'turngraph-'))));
  afterAll(() => rm(folder, { recursive: true }));

  it('is missing: the error has a hint', async () => {
    const path = join(folder, 'none.json');
    await expect(readCatalogue(path)).rejects.toMatchObject({
      name: 'UNKNOWN_MODEL',
      message: expect.stringMatching(
        /none\.json cannot be read: there is no such file; name another with --catalogue;/,
      ),
    });
  });

  it('is not a folder', async () => {
    const path = join(folder, 'models');
    await mkdir(path);
    await expect(readCatalogue(path)).rejects.toThrow(/models cannot be read: it is a folder; /);
  });

  it('is the base of local paths', async () => {
    const path = join(folder, 'models.json');
    await writeFile(path, withModels(model('near', '', variant(', "local_path": "weights"'))));
    const { models } = await readCatalogue(path);
    expect(models.get('near')?.file).toBe(join(folder, 'weights', 'x.gguf'));
    expect(models.get('good')?.file).toBeUndefined();
  });
});

describe('the variants of a model', () => {
  const other = '{ "engine": "mlx", "files": 1, "bits": 4 }';

  it('are used if an engine can run them; others are reported', () => {
    const text = withModels(model('two', '', `${other}, ${variant(', "context_size": 7')}, ${variant()}`));
    const { models, problems } = parseCatalogue(text, 'm.json');
    expect(models.get('two')?.variants.map(({ context_size }) => context_size)).toEqual([7, 0]);
    expect(problems).toEqual([
      'm.json:3:33: /models/0/variants/0/engine is no engine of this server: "mlx"; the variant is ignored',
    ]);
  });

  it('are rejected with their own location, also after an ignored one', () => {
    const { models, problems } = parseCatalogue(
      withModels(model('two', '', `${other}, ${variant(', "sha2566": 1')}`)),
      'm.json',
    );
    expect([...models.keys()]).toEqual(['good']);
    expect(problems[1]).toContain('/models/0/variants/1/sha2566 is not known here; did you mean "sha256"?');
  });

  it('are no model when no engine can run one', () => {
    const { models, problems } = parseCatalogue(withModels(model('none', '', other)), 'm.json');
    expect([...models.keys()]).toEqual(['good']);
    expect(problems[0]).toContain('/models/0/variants/0');
  });
});

describe('any catalogue', () => {
  it('is parsed or rejected with a location, whatever was changed', () => {
    const count = isWhole ? 250 : 150;
    const { read, faults, problems } = fuzzTarget({ parseCatalogue }, { count, seed: 20 });
    expect(Math.min(read, faults, problems)).toBeGreaterThan(count / 30);
  });
});
