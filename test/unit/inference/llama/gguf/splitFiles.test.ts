import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readGguf, validateGgufFile } from '../../../../../src/inference/llama/gguf/validateFile.ts';
import { writeHeader } from '../../../../../scripts/gguf/header.mjs';
import { i32, number, text, u32 } from '../../../../../scripts/gguf/values.mjs';

const u16 = (value: number): Buffer => Buffer.concat([u32(2), Buffer.from([value, 0])]);
const partName = (part: number, count: number): string => `m-0000${part}-of-0000${count}.gguf`;

/** A part of a model of six tensors; without a number it is the whole. */
function part(number_: number, count: number, tensors = 6 / count): Buffer {
  const split = [
    ['split.no', u16(number_ - 1)],
    ['split.count', u16(count)],
    ['split.tensors.count', Buffer.concat([u32(5), i32(6)])],
  ];
  const sizes = { block_count: 1, embedding_length: 64, context_length: 64 };
  const own = Object.entries(sizes).map(([key, value]) => [`llama.${key}`, number(value)]);
  const metadata = [['general.architecture', text('llama')], ...own, ...(count > 1 ? split : [])];
  const shapes = Array.from({ length: tensors }, (_, index) => ({
    name: `t${number_}.${index}`,
    type: 'F32',
    dimensions: [64, 64],
  }));
  const { head } = writeHeader({ metadata, shapes, vocab: undefined, chatTemplate: undefined }) as {
    readonly head: Buffer;
  };
  return Buffer.concat([head, Buffer.alloc(tensors * 64 * 64 * 4)]);
}

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
});
afterEach(() => rm(folder, { recursive: true }));

const write = (name: string, content: Buffer): Promise<void> => writeFile(join(folder, name), content);
const writeParts = async (count: number): Promise<void> => {
  for (let index = 1; index <= count; index++) await write(partName(index, count), part(index, count));
};
const problemOf = (name: string): Promise<string> =>
  validateGgufFile(join(folder, name)).then(
    () => 'none',
    (error: Error) => error.message,
  );

describe('a split model', () => {
  it.each([2, 3])('is read as one, with the tensors of all %d parts', async (count) => {
    await writeParts(count);
    const { header, bytes } = await readGguf(join(folder, partName(1, count)));
    expect(header.tensors).toHaveLength(6);
    expect(bytes).toBeGreaterThan(6 * 64 * 64 * 4);
    expect(await problemOf(partName(1, count))).toBe('none');
  });

  it.each([1, 2, 3])('is refused with the number of a missing part: %d', async (missing) => {
    await writeParts(3);
    await rm(join(folder, partName(missing, 3)));
    expect(await problemOf(partName(1, 3))).toBe(
      `there is no file ${partName(missing, 3)}: part ${missing} of 3 is missing; put it into the folder of the others, or download the model`,
    );
  });

  it.each([1, 2])('is refused with what it is when part %d was renamed', async (renamed) => {
    await writeParts(2);
    await rename(join(folder, partName(renamed, 2)), join(folder, 'model.gguf'));
    expect(await problemOf('model.gguf')).toBe(
      `it is part ${renamed} of 2 of a split model, and its name does not say so: give each part the name that it had (model-0000${renamed}-of-00002.gguf), in one folder`,
    );
  });

  it.each([2, 3])('is refused when its %d parts were joined as they are', async (count) => {
    await write('model.gguf', Buffer.concat(Array.from({ length: count }, (_, index) => part(index + 1, count))));
    expect(await problemOf('model.gguf')).toMatch(/^it is parts of a split model, joined as they are: .*--merge/);
  });

  it('is refused when its parts have changed their names', async () => {
    await write(partName(1, 2), part(2, 2));
    await write(partName(2, 2), part(1, 2));
    expect(await problemOf(partName(1, 2))).toMatch(
      /^m-00001-of-00002\.gguf is part 2 of 2 of a split model, as its header says, and part 1 of 2 by its name/,
    );
  });

  it('is refused when a part is of another model, or all is in one file', async () => {
    await writeParts(2);
    await write(partName(2, 2), part(2, 2, 2));
    expect(await problemOf(partName(1, 2))).toBe(
      'its parts have 5 tensors, and the model has 6: they are of different models',
    );
    await write(partName(2, 2), part(2, 3));
    expect(await problemOf(partName(1, 2))).toContain('m-00002-of-00002.gguf is part 2 of 3 of a split model');
    await write(partName(1, 2), part(1, 1));
    expect(await problemOf(partName(1, 2))).toContain('m-00001-of-00002.gguf is a whole model, as its header says');
  });

  it('is refused when another part than the first is given', async () => {
    await writeParts(2);
    expect(await problemOf(partName(2, 2))).toBe(`it is not the first part: give ${partName(1, 2)}`);
  });
});
