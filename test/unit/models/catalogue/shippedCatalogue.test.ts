import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseCatalogue } from '../../../../src/models/catalogue/catalogue.ts';
import { modelsSchema } from '../../../../src/models/catalogue/editorSchema.ts';
import { formats } from '../../../../src/tools/formats/index.ts';
import { repositoryPath } from '../../../helpers/server.ts';

const textOf = (file: string): string => readFileSync(repositoryPath(file), 'utf8');
const { models, problems } = parseCatalogue(textOf('models.json'), repositoryPath('models.json'));
const [demo, ...others] = [...models.values()];

/** The rows of the table of models: name, repository, file. */
const seen = [...textOf('docs/catalogue-sources.md').matchAll(/^\| (.+) \|$/gm)]
  .map(([, row = '']) => row.split('|').map((cell) => cell.trim().replaceAll('`', '')))
  .filter(([, , file = '']) => file.endsWith('.gguf'));

describe('the shipped catalogue', () => {
  it('has nothing to tell of, so that its names are unique, too', () => {
    expect(problems).toEqual([]);
  });

  it('begins with the bundled model', () => {
    expect(demo).toMatchObject({ name: 'turngraph-demo', file: repositoryPath('models/turngraph-demo.gguf') });
  });

  it('has at least twelve more, and some in each format', () => {
    expect(others.length).toBeGreaterThanOrEqual(12);
    const spoken = new Set(others.map(({ tool_call_format }) => tool_call_format));
    expect([...spoken].sort()).toEqual([...formats.keys()].sort());
  });

  it.each(others.map((entry) => [entry.name, entry] as const))('says of %s all that a download needs', (_, entry) => {
    expect(entry.description).not.toBe('');
    expect(entry.file).toBeUndefined();
    for (const { huggingface_repo, files, license, context_size, kv_cache_type } of entry.variants) {
      expect(huggingface_repo).toMatch(/^[^/]+\/[^/]+$/);
      expect(files.filter((file) => !file.endsWith('.gguf'))).toEqual([]);
      expect(license).not.toBe('');
      expect(context_size).toBeGreaterThan(0);
      expect(kv_cache_type).toBe('f16');
    }
  });

  it('has a repository and a file in docs/catalogue-sources.md for each, and no more', () => {
    const listed = others.flatMap(({ name, variants }) =>
      variants.flatMap(({ huggingface_repo, files }) => files.map((file) => [name, huggingface_repo, file])),
    );
    expect(seen.map((row) => row.slice(0, 3))).toEqual(listed);
    for (const [, , , pages] of seen) expect(pages).toMatch(/\[page\]\(https:\/\/\S+\)/);
  });

  it('states hashes and sizes only where their page does', () => {
    const stated = others.map(({ variants: [variant] }) =>
      (['sha256', 'size_bytes'] as const).filter((figure) => variant?.[figure] !== undefined).join(', '),
    );
    expect(seen.map((row) => row[4])).toEqual(stated);
  });
});

interface Described {
  readonly description?: string;
  readonly default?: unknown;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Described>>;
  readonly items?: Described;
}

describe('models.schema.json', () => {
  const { definitions } = modelsSchema() as { readonly definitions: { readonly model: Described } };

  it.each(fieldsOf(definitions.model))('describes %s, and says what holds without it', (_, field, isRequired) => {
    expect(field.description).toMatch(/\S/);
    if (!isRequired) expect(field.default !== undefined || /absent = /.test(field.description ?? '')).toBe(true);
  });

  function fieldsOf({ properties = {}, required = [], items }: Described): [string, Described, boolean][] {
    const inner = items ? fieldsOf(items) : [];
    return Object.entries(properties)
      .flatMap(([name, field]): [string, Described, boolean][] => [
        [name, field, required.includes(name)],
        ...fieldsOf(field).map(([below, ...rest]): [string, Described, boolean] => [`${name}.${below}`, ...rest]),
      ])
      .concat(inner);
  }
});
