import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseCatalogue, modelsSchema } from '../../../../../src/inference/models/catalogue/catalogue.ts';
import { estimateSize } from '../../../../../src/inference/models/suggestions/modelSize.ts';
import { formats } from '../../../../../src/chat/formats/index.ts';
import { repositoryPath } from '../../../../helpers/server.ts';

const textOf = (file: string): string => readFileSync(repositoryPath(file), 'utf8');
const { models, problems } = parseCatalogue(textOf('models.json'), repositoryPath('models.json'));
const [demo, ...others] = [...models.values()];

/** Pages in a cell: the text of the first link, and whether one of them states the hash. */
const pagesPattern = /^\[(\S+?)\]\(https:\/\/\S+\)(?: \[2\]\(https:\/\/\S+\))*( sha256)?$/;
const rows = [...textOf('docs/contribute/catalogue-sources.md').matchAll(/^\| (.+) \|$/gm)].map(([, row = '']) =>
  row.split('|').map((cell) => cell.trim()),
);
/** Rows of the page: name, repository and file, size, whether a page states the hash. */
const documented = rows.flatMap(([name = '', source = '', stated = '']) => {
  const [, file, hashBesideFile] = pagesPattern.exec(source) ?? [];
  const [, bytes, hashBesideSize] = pagesPattern.exec(stated) ?? [];
  return file === undefined ? [] : [{ name, file, bytes, hasHash: (hashBesideFile ?? hashBesideSize) !== undefined }];
});

describe('the shipped catalogue', () => {
  it('has no problems', () => {
    expect(problems).toEqual([]);
  });

  it('begins with the bundled model', () => {
    expect(demo).toMatchObject({ name: 'turngraph-demo', file: repositoryPath('models/turngraph-demo.gguf') });
  });

  it('has at least twelve more models, and some for each format and for that of their own chat template', () => {
    expect(others.length).toBeGreaterThanOrEqual(12);
    const formatNames = new Set(others.map(({ tool_call_format }) => tool_call_format));
    // No model is trained on react alone: a node chooses it.
    const trained = [...formats.keys()].filter((name) => name !== 'react');
    expect([...formatNames].sort()).toEqual(['', ...trained].sort());
  });

  it.each(others.map((entry) => [entry.name, entry] as const))(
    'has all fields of %s that a download needs',
    (_, entry) => {
      expect(entry.description).not.toBe('');
      expect(entry.file).toBeUndefined();
      for (const { huggingface_repo, files, license, context_size, kv_cache_type } of entry.variants) {
        expect(huggingface_repo).toMatch(/^[^/]+\/[^/]+$/);
        expect(files.filter((file) => !file.endsWith('.gguf'))).toEqual([]);
        expect(license).not.toBe('');
        expect(context_size).toBeGreaterThan(0);
        expect(kv_cache_type).toBe('f16');
      }
    },
  );

  it('has the repositories, files and sizes of docs/contribute/catalogue-sources.md', () => {
    const listed = others.flatMap(({ name, variants }) =>
      variants.flatMap(({ huggingface_repo, files, size_bytes }) =>
        files.map((file) => ({ name, file: `${huggingface_repo}/${file}`, bytes: String(size_bytes) })),
      ),
    );
    expect(documented.map(({ name, file, bytes }) => ({ name, file, bytes }))).toEqual(listed);
    for (const { bytes } of documented) expect(Number(bytes)).toBeGreaterThan(0);
  });

  it('has hashes only for models of which a page states them', () => {
    const stated = documented.filter(({ hasHash }) => hasHash);
    const hashed = others.filter(({ variants: [variant] }) => variant?.sha256 !== undefined);
    expect(hashed.map(({ name }) => name)).toEqual(stated.map(({ name }) => name));
  });

  it('has the KV caches of docs/contribute/catalogue-sources.md', () => {
    const [, list = ''] = textOf('docs/contribute/catalogue-sources.md')
      .replaceAll(/\s+/g, ' ')
      .split('were not checked. ');
    const stated = list.split(/[;.] /).flatMap((item) => {
      const [, name = '', ...numbers] = /^(.+?) (\d+) × (\d+) × (\d+)\.? ?$/.exec(item) ?? [];
      return numbers.length === 0 ? [] : [[name, numbers.reduce((product, number) => product * Number(number), 4)]];
    });
    const listed = others.flatMap(({ name, variants: [variant] }) =>
      variant?.kv_bytes_per_token === undefined ? [] : [[name.replace(/ \(.*/, ''), variant.kv_bytes_per_token]],
    );
    expect(new Map(listed as [string, number][])).toEqual(new Map(stated as [string, number][]));
    expect(listed.length).toBeGreaterThan(25);
  });

  // Names round the number of parameters down, and embeddings, a large part of a small model, have more bits.
  it.each(others.map((entry) => [entry.name, entry] as const))(
    'has a size of %s that its parameters and its quantization make plausible',
    (name, { variants: [variant] }) => {
      const expected = estimateSize([...(variant?.files ?? []), name]);
      const ratio = (variant?.size_bytes ?? 0) / (expected ?? 0);
      expect(ratio).toBeGreaterThan(0.9);
      expect(ratio).toBeLessThan(1.35);
    },
  );
});

interface SchemaNode {
  readonly description?: string;
  readonly default?: unknown;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
}

describe('models.schema.json', () => {
  const { definitions } = modelsSchema() as { readonly definitions: { readonly model: SchemaNode } };

  it('is what the server reads models.json by', () => {
    expect(JSON.parse(textOf('models.schema.json'))).toEqual(modelsSchema());
  });

  it.each(fieldsOf(definitions.model))('describes %s and its default', (_, field, isRequired) => {
    expect(field.description).toMatch(/\S/);
    if (!isRequired) expect(field.default !== undefined || /absent = /.test(field.description ?? '')).toBe(true);
  });

  function fieldsOf({ properties = {}, required = [], items }: SchemaNode): [string, SchemaNode, boolean][] {
    const inner = items ? fieldsOf(items) : [];
    return Object.entries(properties)
      .flatMap(([name, field]): [string, SchemaNode, boolean][] => [
        [name, field, required.includes(name)],
        ...fieldsOf(field).map(([child, ...rest]): [string, SchemaNode, boolean] => [`${name}.${child}`, ...rest]),
      ])
      .concat(inner);
  }
});
