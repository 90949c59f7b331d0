import { describe, expect, it } from 'vitest';
import { frameReports } from '../../../src/client/client.ts';
import { codecs } from '../../helpers/depth.ts';
import { connectToFakeServer, useCleanups } from '../../helpers/fakeServer.ts';

useCleanups();

const targetMs = 16.7;

/** A game with a frame each 10 ms; returns what was reported. */
function startGame(answer: () => Promise<unknown> = async () => undefined) {
  const reports: [number, number][] = [];
  const addFrame = frameReports((ms, target) => {
    reports.push([ms, target]);
    return answer();
  });
  let now = 5000;
  const play = async (...times: readonly number[]): Promise<void> => {
    for (const ms of times) addFrame(ms, targetMs, (now += 10));
    await new Promise(setImmediate);
  };
  return { reports, addFrame, play };
}

const second = (ms: number): readonly number[] => Array.from({ length: 100 }, () => ms);

describe('the reports of frame times', () => {
  it('are one a second, the first of them after a second', async () => {
    const { reports, play } = startGame();
    await play(...second(16));
    expect(reports).toEqual([]);
    await play(16);
    expect(reports).toEqual([[16, targetMs]]);
    for (let each = 0; each < 3; each++) await play(...second(17), 17);
    expect(reports).toHaveLength(4);
  });

  it('have the 95th percentile since the last one: a few late frames are none', async () => {
    const { reports, play } = startGame();
    await play(...second(16).with(0, 900).with(50, 900).with(99, 900), 16);
    await play(...Array.from({ length: 6 }, () => 40), ...second(16).slice(5));
    await play(...second(16), 16);
    expect(reports.map(([ms]) => ms)).toEqual([16, 40, 16]);
  });

  it('do not wait for a connection: while one is not answered, no other is sent', async () => {
    let answer = (): void => undefined;
    const { reports, play } = startGame(() => new Promise<void>((resolve) => (answer = resolve)));
    for (let each = 0; each < 5; each++) await play(...second(20), 20);
    expect(reports).toHaveLength(1);
    answer();
    await play();
    await play(...second(21), 21);
    expect(reports).toEqual([
      [20, targetMs],
      [21, targetMs],
    ]);
  });

  it('go on after one was refused', async () => {
    const { reports, play } = startGame(() => Promise.reject(new Error('the connection is lost')));
    for (let each = 0; each < 3; each++) await play(...second(20), 20);
    expect(reports).toHaveLength(3);
  });

  it.each(codecs)('reach the server over %s, and wrong times are refused at once', async (codec) => {
    const { client, received } = await connectToFakeServer((_, send) => send('ack'), { codec });
    expect(() => client.reportFrame(Number.NaN, targetMs)).toThrow('reportFrame.ms must be a number of milliseconds');
    expect(() => client.reportFrame(16, 0)).toThrow('reportFrame.targetMs must be more than 0, not 0');
    // @ts-expect-error: text
    expect(() => client.reportFrame('16', targetMs)).toThrow('reportFrame.ms');
    while (received.length === 0) {
      client.reportFrame(20.5, targetMs);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(received).toMatchObject([{ requestId: 1, reportFrame: { ms: 20.5, targetMs } }]);
  });
});
