import { describe, expect, it } from 'vitest';
import { LogSink } from '../../../src/base/log.ts';

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
