import { describe, expect, it } from 'vitest';
import { fullPace, Pace, type PaceLimits } from '../../../../src/inference/contract/pace.ts';
import { SentPaces, ReceivedPaces } from '../../../../src/inference/process/paces.ts';

const paused = { ...fullPace, paused: true };

/** The paces of one process, with what it was told. */
function createProcess(): { readonly paces: SentPaces; readonly told: [number, PaceLimits][]; ends: number } {
  const told: [number, PaceLimits][] = [];
  const created = { told, ends: 0, paces: new SentPaces((id, limits) => told.push([id, limits]), onEnd) };
  function onEnd(): void {
    created.ends++;
  }
  return created;
}

describe('the paces of the requests of an engine process', () => {
  it('are sent with a request, and told when they change while it runs', () => {
    const { paces, told } = createProcess();
    const pace = new Pace({ ...fullPace, maxThreads: 2 });
    const sent = paces.begin({ priority: 'URGENT', pace });
    expect(sent.plain).toEqual({ priority: 'URGENT', pace: { id: 1, limits: { ...fullPace, maxThreads: 2 } } });
    pace.set(paused);
    expect(told).toEqual([[1, paused]]);
    sent.end();
    pace.set(fullPace);
    expect(told).toHaveLength(1);
    expect(paces.begin({}).plain).toEqual({ priority: 'NORMAL' });
  });

  it('count the requests that are paused, until they end', () => {
    const process = createProcess();
    const { paces } = process;
    const pace = new Pace(paused);
    const [first, second] = [paces.begin({ pace }), paces.begin({ pace })];
    paces.begin({ pace: new Pace() });
    expect(paces.paused).toBe(2);
    first.end();
    first.end();
    expect([paces.paused, process.ends]).toEqual([1, 1]);
    pace.set(fullPace);
    expect(paces.paused).toBe(0);
    pace.set(paused);
    second.end();
    expect(paces.paused).toBe(0);
  });

  it('divide a limit of tokens per second among the processes', () => {
    const [one, two] = [createProcess(), createProcess()];
    const pace = new Pace({ ...fullPace, maxTokensPerSecond: 15 });
    const first = one.paces.begin({ pace });
    expect(first.plain.pace?.limits.maxTokensPerSecond).toBe(15);
    const second = two.paces.begin({ pace });
    expect(second.plain.pace?.limits.maxTokensPerSecond).toBe(7.5);
    expect(one.told.map(([, { maxTokensPerSecond }]) => maxTokensPerSecond)).toEqual([7.5]);
    second.end();
    expect(one.told.map(([, { maxTokensPerSecond }]) => maxTokensPerSecond)).toEqual([7.5, 15]);
    first.end();
  });

  it('are followed in the process while a request with them runs', async () => {
    const received = new ReceivedPaces();
    let release = (): void => undefined;
    const end = new Promise<void>((resolve) => (release = resolve));
    let pace: Pace | undefined;
    const request = received.run({ priority: 'NORMAL', pace: { id: 1, limits: paused } }, async (schedule) => {
      pace = schedule.pace;
      await end;
    });
    expect(received.paused).toBe(1);
    received.set(1, { ...fullPace, maxThreads: 1 });
    received.set(2, paused);
    expect([received.paused, pace?.limits.maxThreads]).toEqual([0, 1]);
    received.set(1, paused);
    release();
    await request;
    expect(received.paused).toBe(0);
  });
});
