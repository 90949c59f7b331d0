import { describe, expect, it } from 'vitest';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog, LogSink } from '../../../src/base/log.ts';

/** A file that takes at most `room` bytes, and at most 1,000 at a time, as the system may. */
class SmallDisk {
  text = '';
  room = 0;
  writes = 0;

  readonly write = async (bytes: Uint8Array): Promise<number> => {
    this.writes++;
    const count = Math.min(bytes.byteLength, this.room, 1000);
    if (count === 0) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    this.room -= count;
    this.text += Buffer.from(bytes.subarray(0, count)).toString('latin1');
    return count;
  };
}

const createSink = (disk: SmallDisk): LogSink => new LogSink((count) => `${count} lost\n`, disk.write);

describe('the log on a full disk', () => {
  it('writes every line once and in order when there is room again', async () => {
    const disk = new SmallDisk();
    const sink = createSink(disk);
    for (const room of [2500, 0, 1, 0, Infinity]) {
      disk.room = room;
      for (let count = 0; count < 300; count++) sink.write(`${String(count).padStart(9, '0')}\n`);
      await sink.idle();
    }
    const lines = Array.from({ length: 300 }, (_, count) => `${String(count).padStart(9, '0')}\n`).join('');
    expect(disk.text).toBe(lines.repeat(5));
  });

  it('tries to write once for each line, and does not repeat the write by itself', async () => {
    const disk = new SmallDisk();
    const sink = createSink(disk);
    for (let count = 1; count <= 5; count++) {
      sink.write('line\n');
      await sink.idle();
      expect(disk.writes).toBe(count);
    }
  });

  it('keeps a mebibyte of lines, and says how many were lost', async () => {
    const disk = new SmallDisk();
    const sink = createSink(disk);
    const line = `${'x'.repeat(1023)}\n`;
    for (let count = 0; count < 1024 + 7; count++) sink.write(line);
    await sink.idle();
    disk.room = Infinity;
    sink.write(line);
    await sink.idle();
    expect(disk.text).toBe(`${line.repeat(1024)}8 lost\n`);
  });
});

describe('a log file', () => {
  it('is renamed at 10 MB, and the older ones with it: there are five, and no line is lost', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-log-'));
    const file = join(folder, 'server.log');
    const log = createLog({ level: 'info', json: false, file });
    // A file has 16 of them, and what waits to be written at most one.
    const filler = '-'.repeat(650_000);
    const lines = 16 * 6;
    const newest = async (): Promise<string> => readFile(file, 'utf8').catch(() => '');
    for (let count = 1; count <= lines; count++) {
      log.info({ count, filler });
      await expect.poll(async () => (await newest()).includes(`"count":${count},`) || count % 16 === 0).toBe(true);
    }
    await expect.poll(async () => (await readdir(folder)).length).toBe(5);
    const names = (await readdir(folder)).toSorted();
    expect(names.slice(-4)).toEqual([1, 2, 3, 4].map((number) => `server.log.${number}`));
    for (const name of names) expect((await stat(join(folder, name))).size).toBeLessThan(10 * 2 ** 20 + 700_000);
    const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
    const counts = texts.flatMap((text) => [...text.matchAll(/"count":(\d+),/g)].map(([, count]) => Number(count)));
    const sorted = counts.toSorted((a, b) => a - b);
    expect(sorted).toEqual(sorted.map((_, index) => (sorted[0] ?? 0) + index));
    await rm(folder, { recursive: true });
  });
});
