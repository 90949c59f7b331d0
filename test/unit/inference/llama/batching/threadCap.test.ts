import { describe, expect, it } from 'vitest';
import { ThreadCap } from '../../../../../src/inference/llama/batching/threadCap.ts';
import { fullPace, Pace } from '../../../../../src/inference/contract/pace.ts';

describe('the largest number of threads of a batch', () => {
  it('is the lowest limit of the inferences in it, as it is at the time', () => {
    const cap = new ThreadCap();
    const [one, two, three] = [{}, {}, {}];
    expect(cap.threads).toBe(Infinity);
    const pace = new Pace({ ...fullPace, maxThreads: 4 });
    cap.enter(one, pace);
    cap.enter(two, new Pace({ ...fullPace, maxThreads: 2 }));
    cap.enter(three, undefined);
    expect(cap.threads).toBe(2);
    pace.set({ ...fullPace, maxThreads: 1 });
    expect(cap.threads).toBe(1);
    pace.set(fullPace);
    cap.leave(two);
    expect(cap.threads).toBe(Infinity);
  });
});
