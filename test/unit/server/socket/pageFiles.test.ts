import { readFile } from 'node:fs/promises';
import { expect, it, vi } from 'vitest';
import { playgroundPage } from '../../../../src/server/socket/pageFiles.ts';

vi.mock('node:fs/promises', async (importOriginal) => ({
  ...(await importOriginal<object>()),
  readdir: async () => ['index-1234.js', 'licenses.txt'],
  readFile: vi.fn(async (path: string) => Buffer.from(path)),
}));

const full = Object.assign(new Error('too many open files'), { code: 'EMFILE' });

it('reads the playground again after a read that failed', async () => {
  vi.mocked(readFile).mockRejectedValue(full);
  await expect(playgroundPage.read('/')).rejects.toBe(full);
  vi.mocked(readFile).mockImplementation(async (path) => Buffer.from(String(path)));
  const [index, script, licenses] = await Promise.all(
    ['/', '/playground/index-1234.js', '/playground/licenses.txt'].map((path) => playgroundPage.read(path)),
  );
  expect(index?.headers['cache-control']).toBe('no-cache');
  expect(script?.headers['cache-control']).toMatch(/immutable/);
  expect(licenses?.headers['cache-control']).toBe('no-cache');
  expect(await playgroundPage.read('/playground/other.js')).toBeUndefined();
});
