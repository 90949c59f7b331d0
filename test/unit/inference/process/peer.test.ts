import { describe, expect, it } from 'vitest';
import { Fault } from '../../../../src/protocol/fault.ts';
import { Peer, type Request, type RequestHandlers, UnreceivedRequest } from '../../../../src/inference/process/peer.ts';

type Requests = {
  readonly double: Request<number, number>;
  readonly spell: Request<string, string, string>;
  readonly fail: Request<unknown>;
  readonly wait: Request<undefined, string>;
};
type Asking = Peer<Requests, Record<never, never>>;

/** Two peers; `batches` are the messages that the asking side has sent, `answers` those that it has received. */
function connectPeers(handlers: Partial<RequestHandlers<Requests>> = {}) {
  const batches: (readonly unknown[])[] = [];
  const answers: (readonly unknown[])[] = [];
  // As over a process boundary: only plain data arrives.
  const asking: Asking = new Peer((messages) => {
    batches.push(messages);
    answering.receive(structuredClone(messages));
  }, {});
  const answering = new Peer<Record<never, never>, Requests>(
    (messages) => {
      answers.push(messages);
      asking.receive(structuredClone(messages));
    },
    {
      double: ({ params }) => params * 2,
      spell: async ({ params, emit }) => {
        for (const letter of params) emit(letter);
        return params;
      },
      fail: ({ params }) => {
        throw params;
      },
      wait: ({ signal, paused }) =>
        new Promise((resolve) => {
          const poll = setInterval(() => {
            if (signal.aborted) {
              clearInterval(poll);
              resolve(paused() ? 'aborted while paused' : 'aborted');
            }
          }, 1);
        }),
      ...handlers,
    },
  );
  return { asking, answering, batches, answers };
}

describe('a peer', () => {
  it('answers requests, each with its own result', async () => {
    const { asking } = connectPeers();
    const requests = [1, 2, 3].map((value) => asking.request('double', value).result);
    expect(await Promise.all(requests)).toEqual([2, 4, 6]);
  });

  it('sends what belongs to one round of the event loop as one message', async () => {
    const { asking, batches, answers } = connectPeers();
    const requests = [1, 2, 3].map((value) => asking.request('double', value).result);
    await Promise.all(requests);
    expect([batches.length, answers.length]).toEqual([1, 1]);
  });

  it('delivers the events of a request in order, before its result', async () => {
    const { asking } = connectPeers();
    const letters: string[] = [];
    expect(await asking.request('spell', 'lamp', (letter) => letters.push(letter)).result).toBe('lamp');
    expect(letters).toEqual(['l', 'a', 'm', 'p']);
  });

  it('passes a fault on, with its detail', async () => {
    const { asking } = connectPeers();
    const fault = new Fault('PROMPT_TOO_LARGE', 'the prompt has 9 tokens', { detail: '{"tokens":9}' });
    await expect(asking.request('fail', fault).result).rejects.toMatchObject({ name: 'INTERNAL' });
    const passing = connectPeers({
      fail: () => {
        throw fault;
      },
    });
    const error: unknown = await passing.asking.request('fail', undefined).result.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Fault);
    expect(error).toMatchObject({ name: 'PROMPT_TOO_LARGE', message: fault.message, detail: fault.detail });
  });

  it('keeps the cause of an internal error for the log, not for the client', async () => {
    const { asking } = connectPeers({
      fail: () => {
        throw new TypeError('a defect');
      },
    });
    await expect(asking.request('fail', undefined).result).rejects.toMatchObject({
      name: 'INTERNAL',
      message: expect.not.stringContaining('defect'),
      cause: expect.stringContaining('TypeError: a defect'),
    });
  });

  it('pauses, resumes and aborts a request on the other side', async () => {
    const { asking } = connectPeers();
    const first = asking.request('wait', undefined);
    first.control('pause');
    first.control('abort');
    expect(await first.result).toBe('aborted while paused');
    const second = asking.request('wait', undefined);
    second.control('pause');
    second.control('resume');
    second.control('abort');
    expect(await second.result).toBe('aborted');
  });

  it('gets no answer to what it only tells', async () => {
    const { asking, answers } = connectPeers();
    asking.tell('double', 4);
    expect(await asking.request('double', 1).result).toBe(2);
    expect(answers.flat()).toEqual([
      ['received', 1],
      ['result', 1, 2],
    ]);
  });

  it('tells, when it is closed, which requests the other side has not received', async () => {
    const { asking } = connectPeers();
    const received = asking.request('wait', undefined).result;
    await asking.request('double', 1).result;
    const unreceived = asking.request('wait', undefined).result;
    const crash = new Fault('ENGINE_CRASHED', 'the process has ended');
    asking.close(crash);
    await expect(received).rejects.toBe(crash);
    await expect(unreceived).rejects.toBeInstanceOf(UnreceivedRequest);
    await expect(asking.request('double', 1).result).rejects.toBeInstanceOf(UnreceivedRequest);
  });
});
