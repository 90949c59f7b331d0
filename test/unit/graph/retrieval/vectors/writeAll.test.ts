import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writeAll } from '../../../../../src/base/filesystem.ts';

type Write = Parameters<typeof writeAll>[0]['write'];

it('writes all bytes where the system takes a part of them at a time, and throws when the disk is full', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  const path = join(folder, 'vectors');
  const bytes = Buffer.from('the vectors of a storage');
  try {
    const file = await open(path, 'w');
    let room = Infinity;
    const write = async (buffer: Buffer, offset: number, length: number, position: number) => {
      if (room === 0) throw Object.assign(new Error('full'), { code: 'ENOSPC' });
      const part = Math.min(length, 5, room);
      room -= part;
      return file.write(buffer, offset, part, position);
    };
    const handle = { write: write as Write };
    await writeAll(handle, Buffer.from('head'), 0);
    await writeAll(handle, bytes, 4);
    expect(await readFile(path, 'utf8')).toBe(`head${bytes.toString()}`);
    room = 7;
    await expect(writeAll(handle, bytes, 0)).rejects.toMatchObject({ code: 'ENOSPC' });
    await file.close();
  } finally {
    await rm(folder, { recursive: true });
  }
});
