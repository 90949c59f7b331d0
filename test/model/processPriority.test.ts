import { constants, getPriority } from 'node:os';
import { describe, expect, it, vi } from 'vitest';
import { ProcessEngine } from '../../src/inference/process/engine.ts';
import { generate, userPrompt } from '../contracts/generation.ts';
import { prioritiesOf } from '../helpers/runningProcesses.ts';
import { demoFile } from './demo.ts';

describe('an engine process', () => {
  it('runs all its threads with the priority below-normal', async () => {
    const expected = Math.max(getPriority(), constants.priority.PRIORITY_BELOW_NORMAL);
    let pid = 0;
    await using engine = new ProcessEngine({ priority: 'below-normal', onStart: (id) => (pid = id) });
    const model = await engine.load(demoFile, { contextSize: 256, slots: 1, threads: 2, gpu: 'off' });
    await generate(model.openSequence(), userPrompt('Hello!'), { sampling: { max_tokens: 4 } });
    expect([...new Set(prioritiesOf(pid))]).toEqual([expected]);
  });

  it('lowers its priority to the lowest before it loads anything', async () => {
    let pid = 0;
    await using engine = new ProcessEngine({ priority: 'low', onStart: (id) => (pid = id) });
    engine.prepare('off');
    await vi.waitFor(() => expect(getPriority(pid)).toBe(constants.priority.PRIORITY_LOW), { timeout: 30_000 });
  });
});
