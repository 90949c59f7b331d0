import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  graphFiles,
  storageModels,
  findEntries,
  findModels,
  writeCatalogue,
} from '../../../../src/cli/bundle/bundledModels.ts';
import { Downloads } from '../../../../src/inference/download/downloads.ts';
import { referencesOf } from '../../../../src/graph/compile/document.ts';
import { parseCatalogue } from '../../../../src/inference/models/catalogue/catalogue.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  await mkdir(join(folder, 'own'));
  await mkdir(join(folder, 'models', 'maker', 'hub-model'), { recursive: true });
  const files = ['own/own.gguf', 'models/maker/hub-model/a-1.gguf', 'models/maker/hub-model/a-2.gguf'];
  for (const file of files) await writeFile(join(folder, file), 'GGUF');
});
afterAll(() => rm(folder, { recursive: true }));

const sampling = { temperature: 0.5 };
const own = { engine: 'llama-cpp', local_path: 'own', files: ['own.gguf'], context_size: 2048, license: 'MIT' };
const hub = { engine: 'llama-cpp', huggingface_repo: 'maker/hub-model', files: ['a-1.gguf', 'a-2.gguf'] };
const absent = { engine: 'llama-cpp', huggingface_repo: 'maker/other', files: ['b.gguf'] };
const variantsOf = { own, twin: own, hub, absent, 'own gone': { ...own, files: ['gone.gguf'] } };

function catalogueHere() {
  const models = Object.entries(variantsOf).map(([name, variant]) => ({
    name,
    default_sampling: sampling,
    variants: [variant],
  }));
  return parseCatalogue(JSON.stringify({ models }), join(folder, 'models.json'));
}

const find = (names: readonly string[], catalogue = catalogueHere()) =>
  findModels(names, catalogue, new Downloads(join(folder, 'models'), { env: {}, home: folder }));

describe('the models of a bundle', () => {
  it('are all their files, and a catalogue that has them where they are', async () => {
    const models = await find(['hub', 'own']);
    expect(models.flatMap(({ files }) => files)).toEqual([
      { path: 'models/maker/hub-model/a-1.gguf', content: { copyOf: join(folder, 'models/maker/hub-model/a-1.gguf') } },
      { path: 'models/maker/hub-model/a-2.gguf', content: { copyOf: join(folder, 'models/maker/hub-model/a-2.gguf') } },
      { path: 'models/own.gguf', content: { copyOf: join(folder, 'own/own.gguf') } },
    ]);
    const catalogue = parseCatalogue(writeCatalogue(models), join(folder, 'bundle', 'models.json'));
    expect({ problems: catalogue.problems, extends: catalogue.extends }).toEqual({ problems: [], extends: false });
    expect([...catalogue.models.values()]).toMatchObject([
      {
        name: 'hub',
        default_sampling: sampling,
        file: join(folder, 'bundle/models/maker/hub-model/a-1.gguf'),
        variants: [hub],
      },
      { name: 'own', file: join(folder, 'bundle/models/own.gguf'), variants: [{ ...own, local_path: 'models' }] },
    ]);
  });

  it('have their LoRA adapters with them', async () => {
    await writeFile(join(folder, 'own', 'voice.gguf'), 'GGUF');
    const lora = [{ file: 'own/voice.gguf', scale: 0.5 }];
    const model = { name: 'adapted', variants: [{ ...own, lora }] };
    const catalogue = parseCatalogue(JSON.stringify({ models: [model] }), join(folder, 'models.json'));
    const models = await find(['adapted'], catalogue);
    const paths = models.flatMap(({ files }) => files.map(({ path }) => path));
    expect(paths).toEqual(['models/own.gguf', 'models/lora/voice.gguf']);
    const written = parseCatalogue(writeCatalogue(models), join(folder, 'bundle', 'models.json'));
    expect(written.problems).toEqual([]);
    expect(written.models.get('adapted')).toMatchObject({
      loraFiles: [join(folder, 'bundle/models/lora/voice.gguf')],
      variants: [{ lora: [{ file: 'models/lora/voice.gguf', scale: 0.5 }] }],
    });
    const downloaded = { name: 'adapted', variants: [{ ...hub, lora }] };
    const entries = parseCatalogue(JSON.stringify({ models: [downloaded] }), join(folder, 'models.json'));
    expect(() => findEntries(['adapted'], entries)).toThrow('a LoRA that is a file of your own');
  });

  it('may share a file', async () => {
    const models = await find(['own', 'twin']);
    expect(new Set(models.flatMap(({ files }) => files.map(({ path }) => path)))).toEqual(new Set(['models/own.gguf']));
  });

  it('may be entries for a download only', () => {
    const entries = findEntries(['hub', 'absent'], catalogueHere());
    expect(entries.map(({ files }) => files)).toEqual([[], []]);
    const written = parseCatalogue(writeCatalogue(entries), 'models.json');
    expect(written.problems).toEqual([]);
    expect([...written.models.values()]).toMatchObject([
      { name: 'hub', file: undefined, variants: [hub] },
      { name: 'absent', file: undefined, variants: [absent] },
    ]);
  });

  it.each([
    ['unknown', 'hup', 'the catalogue has no model "hup"; did you mean "hub"?'],
    [
      'not downloaded',
      'absent',
      'is not on disk: run turngraph models download "absent" first, or give --entry "absent"',
    ],
    ['a file that has gone', 'own gone', 'the model "own gone" is not on disk: there is no file '],
  ])('are refused where one is %s', async (_, name, message) => {
    await expect(find([name])).rejects.toThrow(message);
  });

  it('cannot be entries where they are nowhere to download', () => {
    expect(() => findEntries(['own'], catalogueHere())).toThrow('--entry own: its entry has no huggingface_repo');
  });
});

describe('the graphs of a bundle', () => {
  const graphWith = (path: string, storage: string) => ({
    path: join(folder, path),
    document: { nodes: { say: { params: { string_storage: storage } }, none: {} } },
    storageRoot: folder,
  });

  it('come with the storage files that they name', async () => {
    const graphs = [graphWith('a.json', 'own/own.gguf'), graphWith('b.json', 'a storage of the client')];
    expect((await graphFiles(graphs)).map(({ path }) => path)).toEqual([
      'graphs/a.json',
      'graphs/own/own.gguf',
      'graphs/b.json',
    ]);
  });

  it('come with the file that has the records of a knowledge file', async () => {
    await writeFile(join(folder, 'own', 'lore.kb.json'), '{"records_file": "records.json"}');
    await writeFile(join(folder, 'own', 'records.json'), '[]');
    expect((await graphFiles([graphWith('a.json', 'own/lore.kb.json')])).map(({ path }) => path)).toEqual([
      'graphs/a.json',
      'graphs/own/lore.kb.json',
      'graphs/own/records.json',
    ]);
  });

  it('come with the embedding models of their nodes, and of the knowledge files that these search', async () => {
    await writeFile(join(folder, 'own', 'named.kb.json'), '{"embedding_model": "of-file", "records": []}');
    const string_storage = 'own/named.kb.json';
    const retrieve = (params: object) => ({
      ...graphWith('a.json', ''),
      document: { nodes: { find: { params: { string_storage, ...params } } } },
    });
    expect(await storageModels([retrieve({ match: 'both' })])).toEqual(['of-file']);
    expect(await storageModels([retrieve({ match: 'words' })])).toEqual([]);
    expect(await storageModels([retrieve({ match: 'vectors', string_storage: 'a storage of the client' })])).toEqual(
      [],
    );
    const own = retrieve({ match: 'vectors', embedding_model: 'of-node' });
    expect(await storageModels([own])).toEqual([]);
    expect(referencesOf(own.document).models).toEqual(['of-node']);
    expect(referencesOf(retrieve({ embedding_model: 'unused' }).document).models).toEqual([]);
  });

  it('cannot have one name', async () => {
    const graphs = [graphWith('one/a.json', ''), graphWith('two/a.json', '')];
    await expect(graphFiles(graphs)).rejects.toThrow('would both be graphs/a.json in the bundle: rename one of them');
  });
});
