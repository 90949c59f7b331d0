import { describe, expect, it } from 'vitest';
import { RequestQueue, RequestQueues } from '../../../../src/server/session/requestQueue.ts';

interface Connection {
  readonly queue: RequestQueue;
  /** `pause` and `resume`, in the order of the calls. */
  readonly calls: string[];
}

function connect(queues: RequestQueues): Connection {
  const calls: string[] = [];
  const queue = new RequestQueue(queues, { pause: () => calls.push('pause'), resume: () => calls.push('resume') });
  return { queue, calls };
}

describe('the request queue of a connection', () => {
  it('pauses the connection at its limit, and resumes it below', () => {
    const queues = new RequestQueues({ connectionBytes: 100, totalBytes: 1000 });
    const { queue, calls } = connect(queues);
    const places = [40, 40, 40].map((bytes) => queue.add(bytes));
    expect(calls).toEqual(['pause']);
    expect(queues).toMatchObject({ bytes: 120, pausedConnections: 1 });
    places.forEach((place) => place.release());
    expect(calls).toEqual(['pause', 'resume']);
    expect(queues).toMatchObject({ bytes: 0, pausedConnections: 0 });
  });

  it('accepts a request of any size when it is empty', () => {
    const { queue, calls } = connect(new RequestQueues({ connectionBytes: 100, totalBytes: 100 }));
    const place = queue.add(5000);
    expect(calls).toEqual(['pause']);
    place.release();
    expect(calls).toEqual(['pause', 'resume']);
  });

  it('counts a request that is released twice once', () => {
    const queues = new RequestQueues({ connectionBytes: 100, totalBytes: 100 });
    const { queue } = connect(queues);
    const place = queue.add(30);
    queue.add(20);
    place.release();
    place.release();
    expect(queues.bytes).toBe(20);
  });

  it('is read while all its requests wait for an agent, and then refuses more of them', () => {
    const queues = new RequestQueues({ connectionBytes: 100, totalBytes: 1000 });
    const { queue, calls } = connect(queues);
    const first = queue.add(150);
    first.defer();
    expect(calls).toEqual(['pause', 'resume']);
    const second = queue.add(10);
    expect(() => second.defer()).toThrow(/^requests of 150 bytes wait for agents to be created/);
    second.release();
    first.release();
    expect(calls).toEqual(['pause', 'resume', 'pause', 'resume']);
    expect(queues.bytes).toBe(0);
  });
});

describe('the request queues of all connections', () => {
  it('pause a connection with a waiting request at the limit of all', () => {
    const queues = new RequestQueues({ connectionBytes: 1000, totalBytes: 100 });
    const [busy, other] = [connect(queues), connect(queues)];
    busy.queue.add(100);
    other.queue.add(1);
    expect([busy.calls, other.calls]).toEqual([['pause'], ['pause']]);
  });

  it('read a connection again that has no waiting request, whatever the others hold', () => {
    const queues = new RequestQueues({ connectionBytes: 1000, totalBytes: 100 });
    const [busy, other] = [connect(queues), connect(queues)];
    busy.queue.add(500);
    for (let count = 0; count < 3; count++) other.queue.add(1).release();
    expect(other.calls).toEqual(['pause', 'resume', 'pause', 'resume', 'pause', 'resume']);
    expect(busy.calls).toEqual(['pause']);
  });

  it('resume one connection for each request that was handled, in the order of pausing', () => {
    const queues = new RequestQueues({ connectionBytes: 1000, totalBytes: 100 });
    const [holder, first, second] = [connect(queues), connect(queues), connect(queues)];
    const held = [holder.queue.add(100), holder.queue.add(10), holder.queue.add(10)];
    for (const { queue } of [first, second]) queue.add(1);
    held[0]?.release();
    // The holder has changed, and is below the limit; of the others, one is resumed.
    expect([holder, first, second].map(({ calls }) => calls.at(-1))).toEqual(['resume', 'resume', 'pause']);
    held[1]?.release();
    expect(second.calls).toEqual(['pause', 'resume']);
  });

  it('forget a closed connection', () => {
    const queues = new RequestQueues({ connectionBytes: 100, totalBytes: 100 });
    const { queue, calls } = connect(queues);
    const place = queue.add(100);
    queue.detach();
    expect(queues.pausedConnections).toBe(0);
    place.release();
    expect(calls).toEqual(['pause']);
    expect(queues.bytes).toBe(0);
  });

  it('pause the new connection of a session whose requests still wait, and resume it when they are handled', () => {
    const queues = new RequestQueues({ connectionBytes: 100, totalBytes: 1000 });
    const { queue, calls: old } = connect(queues);
    const place = queue.add(100);
    queue.detach();
    const calls: string[] = [];
    queue.attach({ pause: () => calls.push('pause'), resume: () => calls.push('resume') });
    expect(calls).toEqual(['pause']);
    expect(queues).toMatchObject({ bytes: 100, pausedConnections: 1 });
    place.release();
    expect(calls).toEqual(['pause', 'resume']);
    expect(old).toEqual(['pause']);
    expect(queues).toMatchObject({ bytes: 0, pausedConnections: 0 });
  });
});
