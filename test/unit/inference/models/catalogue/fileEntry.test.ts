import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createFileEntry } from '../../../../../src/inference/models/catalogue/fileEntry.ts';

describe('an entry for a GGUF file', () => {
  const folder = resolve('game');

  it('has the name of the file, and a path relative to the catalogue', () => {
    expect(createFileEntry(join(folder, 'gguf', 'lamp-q8_0.gguf'), new Map(), folder)).toMatchObject({
      name: 'lamp-q8_0',
      tool_call_format: '',
      file: join(folder, 'gguf', 'lamp-q8_0.gguf'),
      variants: [{ local_path: 'gguf', files: ['lamp-q8_0.gguf'], context_size: 0 }],
    });
  });

  it('has an absolute path outside of the folder of the catalogue', () => {
    const { variants } = createFileEntry(resolve('lamp.gguf'), new Map(), folder);
    expect(variants[0]?.local_path).toBe(resolve('.'));
  });

  it('has all parts of a split model, and loads the first, whichever is given', () => {
    const names = ['lamp-00001-of-00002.gguf', 'lamp-00002-of-00002.gguf'];
    for (const name of names) {
      const { file, name: model, variants } = createFileEntry(join(folder, name), new Map(), folder);
      expect({ file, model, files: variants[0]?.files }).toEqual({
        file: join(folder, 'lamp-00001-of-00002.gguf'),
        model: 'lamp',
        files: names,
      });
    }
  });

  it('has a number in its name where the catalogue has that name', () => {
    const taken = new Map([
      ['lamp', {}],
      ['lamp 2', {}],
    ]);
    expect(createFileEntry('lamp.gguf', taken, folder).name).toBe('lamp 3');
  });
});
