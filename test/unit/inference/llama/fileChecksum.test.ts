import { createCipheriv } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fileChecksum } from '../../../../src/inference/llama/cacheFiles.ts';

let folder = '';
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'turngraph-'))));
afterAll(() => rm(folder, { recursive: true }));

async function checksumOf(bytes: Uint8Array): Promise<string> {
  const file = join(folder, 'state');
  await writeFile(file, bytes);
  return fileChecksum(file);
}

/** Longer than what is read at once, and no whole number of blocks. */
const content = Buffer.alloc(2_500_001, 'state of a prompt');

describe('the checksum of a file', () => {
  it('is that of all its bytes, however it is read', async () => {
    const gmac = createCipheriv('aes-128-gcm', Buffer.alloc(16), Buffer.alloc(12)).setAAD(content);
    gmac.final();
    expect(await checksumOf(content)).toBe(gmac.getAuthTag().toString('hex'));
  });

  it.each([
    ['cut', content.subarray(0, -1)],
    ['empty', content.subarray(0, 0)],
    ['longer by a zero', Buffer.concat([content, Buffer.alloc(1)])],
    ['altered in its first bit', flipped(0)],
    ['altered in its middle', flipped(1_300_000)],
    ['altered in its last byte', flipped(content.length - 1)],
    ['in another order', Buffer.concat([content.subarray(1_000_000), content.subarray(0, 1_000_000)])],
  ])('is another one when it is %s', async (_, other) => {
    expect(await checksumOf(other)).not.toBe(await checksumOf(content));
  });

  it('needs a file that can be read', async () => {
    await expect(fileChecksum(join(folder, 'nowhere'))).rejects.toThrow('ENOENT');
  });
});

function flipped(index: number): Buffer {
  const bytes = Buffer.from(content);
  bytes[index] = (bytes[index] ?? 0) ^ 1;
  return bytes;
}
