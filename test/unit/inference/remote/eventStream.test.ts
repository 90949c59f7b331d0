import { describe, expect, it } from 'vitest';
import { readEvents } from '../../../../src/inference/remote/connection/httpConnection.ts';
import { expectLinearTime } from '../../../helpers/linearTime.ts';

async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.slice(start, start + size);
}

async function eventsOf(text: string, size: number): Promise<readonly string[]> {
  const events: string[] = [];
  for await (const data of readEvents(inChunks(new TextEncoder().encode(text), size))) events.push(data);
  return events;
}

describe('a stream of server-sent events', () => {
  const text =
    ': comment\r\ndata: {"a": "東京"}\r\n\r\nevent: x\ndata:one\ndata: two\n\nid: 3\n\ndata: last\n\ndata: cut off';

  it.each([1, 2, 3, 7, 1000])('is read alike in chunks of %i bytes', async (size) => {
    expect(await eventsOf(text, size)).toEqual(['{"a": "東京"}', 'one\ntwo', 'last']);
  });

  it('is read in linear time where a line comes in small chunks', async () => {
    await expectLinearTime(async (times) => {
      const line = 'x'.repeat(20_000 * times);
      expect(await eventsOf(`data: ${line}\r\n\r\n`, 4)).toEqual([line]);
    });
  });

  it.each([
    ['has a line that never ends', 'data: '.padEnd(4_100_000, 'x')],
    ['has lines without end', 'data: one more line\n'.repeat(250_000)],
    ['has empty lines of data without end', 'data:\n'.repeat(900_000)],
  ])('is refused when an event %s', async (_, text) => {
    await expect(eventsOf(text, 100_000)).rejects.toThrow('more than 4000000 characters');
  });
});
