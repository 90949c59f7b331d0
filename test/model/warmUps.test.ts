import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Model } from '../../src/inference/contract/engine.ts';
import { SequenceCache } from '../../src/inference/llama/kvCache/sequenceCache.ts';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import { generate, longText, neverAborted, userPrompt } from '../contracts/generation.ts';
import { demoFile } from './demo.ts';

const head = userPrompt('', longText(40));
const turns = 16;

let cache = '';
beforeEach(async () => void (cache = await mkdtemp(join(tmpdir(), 'turngraph-'))));
afterEach(() => {
  vi.restoreAllMocks();
  return rm(cache, { recursive: true });
});

/** One run of a warm-up in its slot: how many tokens the slot held at its begin and at its end. */
interface Run {
  readonly from: number;
  readonly to: number;
}

/**
 * Warms a prompt up while turns want the only slot: a turn begins to wait whenever so many tokens of the prompt are
 * evaluated as `isMoment` says, at most `turns` times.
 */
async function warmUp(isMoment: 'whole' | 'each chunk', folder?: string): Promise<readonly Run[]> {
  await using engine = llamaEngine(folder === undefined ? undefined : { folder, maxStateBytes: 5e8 });
  const model = await engine.load(demoFile, { contextSize: 2048, slots: 1, threads: 1, gpu: 'off' });
  const runs: Run[] = [];
  const others: Promise<unknown>[] = [];
  const { prefillAll } = SequenceCache.prototype;
  vi.spyOn(SequenceCache.prototype, 'prefillAll').mockImplementation(async function (
    this: SequenceCache,
    run,
    ...rest
  ) {
    const from = run.slot.cache.nextTokenIndex;
    const step = run.step.bind(run);
    run.step = async (work) => {
      const done = await step(work);
      if (isMoment === 'each chunk') await beginTurn(model, others);
      return done;
    };
    const result = await prefillAll.call(this, run, ...rest);
    if (isMoment === 'whole') await beginTurn(model, others);
    runs.push({ from, to: run.slot.cache.nextTokenIndex });
    return result;
  });
  const { tokens } = await model.openSequence().prefill(head, neverAborted, { priority: 'BACKGROUND', keep: true });
  await Promise.all(others);
  expect(runs.at(-1)?.to).toBe(tokens);
  return runs;
}

/** Begins a turn of another agent, and waits until it waits for the slot. */
async function beginTurn(model: Model, others: Promise<unknown>[]): Promise<void> {
  if (others.length === turns) return;
  others.push(generate(model.openSequence(), userPrompt(`Hello ${others.length}!`), { sampling: { max_tokens: 2 } }));
  while (model.stats().waiting === 0) await wait(1);
}

describe('a warm-up', () => {
  it.each([
    ['with a cache folder', () => cache],
    ['without one', () => undefined],
  ])('ends when its whole prompt is evaluated, although a turn waits for its slot: %s', async (_, folder) => {
    expect(await warmUp('whole', folder())).toHaveLength(1);
  });

  it('goes on where it stopped for a turn that took its slot', async () => {
    const runs = await warmUp('each chunk', cache);
    expect(runs.map(({ from }) => from)).toEqual([0, ...runs.slice(0, -1).map(({ to }) => to)]);
    expect(runs.length).toBeGreaterThan(4);
  });

  it('evaluates more each time where what it has evaluated is lost', async () => {
    const runs = await warmUp('each chunk');
    // Without that all turns come before it: one run for each of them.
    expect(runs.length).toBeLessThan(turns / 2);
  });
});
