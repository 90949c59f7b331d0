import { setImmediate as nextRound } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createBackground } from '../../../../src/graph/agent/background.ts';

const create = () => {
  const done: string[] = [];
  const background = createBackground(undefined, (warning) => done.push(warning));
  const add = (name: string): void => background.add(name, async () => void done.push(name));
  return { background, add, done };
};

describe('work after the turns of an agent', () => {
  it('runs in order, and of the same name only the last that waits', async () => {
    const { add, done } = create();
    for (const name of ['facts', 'summary', 'facts', 'facts']) add(name);
    await nextRound();
    expect(done).toEqual(['facts', 'summary', 'facts']);
  });

  it.each([...Array.from({ length: 12 }).keys()])(
    'runs if it is added %i microtasks after the last one',
    async (count) => {
      const { add, done } = create();
      add('first');
      for (let tick = 0; tick < count; tick++) await Promise.resolve();
      add('second');
      await nextRound();
      expect(done).toEqual(['first', 'second']);
    },
  );

  it('runs if it is added while other work is stopped, which is forgotten', async () => {
    const { background, add, done } = create();
    background.add('endless', async ({ signal }) => {
      while (!signal.aborted) await nextRound();
      await nextRound();
    });
    add('forgotten');
    await nextRound();
    const stopping = background.stop();
    add('new');
    await stopping;
    await nextRound();
    expect(done).toEqual(['new']);
  });
});
