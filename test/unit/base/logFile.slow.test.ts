import { createReadStream } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { createLog } from '../../../src/base/log.ts';

describe('a log file', () => {
  it('is renamed at 10 MB, and the older ones with it: there are five, and no line is lost', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-log-'));
    const file = join(folder, 'server.log');
    const log = createLog({ level: 'info', json: false, file });
    // A file has 20 of them, and what waits to be written at most two.
    const filler = '-'.repeat(500_000);
    const lines = 21 * 5 + 1;
    const endOf = async (name: string): Promise<string> => {
      const { size } = await stat(name);
      return text(createReadStream(name, { start: Math.max(0, size - 50) }));
    };
    // A file may be renamed just after the line was written.
    const newest = async (): Promise<string> =>
      (await Promise.all([file, `${file}.1`].map((name) => endOf(name).catch(() => '')))).join('');
    for (let count = 1; count <= lines; count++) {
      log.info({ filler, count });
      await expect.poll(newest, { interval: 10 }).toContain(`"count":${count}}`);
    }
    await expect.poll(async () => (await readdir(folder)).length).toBe(5);
    const names = (await readdir(folder)).toSorted();
    expect(names.slice(-4)).toEqual([1, 2, 3, 4].map((number) => `server.log.${number}`));
    for (const name of names) expect((await stat(join(folder, name))).size).toBeLessThan(10 * 2 ** 20 + 700_000);
    const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
    const counts = texts.flatMap((text) => [...text.matchAll(/"count":(\d+)}/g)].map(([, count]) => Number(count)));
    const sorted = counts.toSorted((a, b) => a - b);
    expect(sorted).toEqual(sorted.map((_, index) => (sorted[0] ?? 0) + index));
    await rm(folder, { recursive: true });
  });
});
