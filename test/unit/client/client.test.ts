import { describe, expect, it, vi } from 'vitest';
import type { TurnHandle } from '../../../src/client/index.ts';
import { codecs } from '../../helpers/depth.ts';
import {
  createTestAgent,
  connectToFakeServer,
  acceptAgents,
  cleanups,
  useCleanups,
  type SendFrame,
} from '../../helpers/fakeServer.ts';

useCleanups();

const collect = async (turn: TurnHandle): Promise<string[]> => {
  const pieces: string[] = [];
  for await (const piece of turn.text) pieces.push(piece);
  return pieces;
};

describe.each(codecs)('a client over %s', (codec) => {
  it('configures its session, and creates agents from graphs or names of graphs', async () => {
    const { client, received } = await connectToFakeServer(
      (frame, send, socket) =>
        frame.body === 'configureSession' ? send('configureSession') : acceptAgents(frame, send, socket),
      { codec },
    );
    expect(client.session).toMatchObject({ protocolVersion: 1, sessionId: 's1' });
    await client.configure({ engine: 'mock' });
    const agent = await client.createAgent({ graph: { b: 1, a: 2 }, history: '[]', maxStepsPerTurn: 3 });
    expect([agent.id, agent.warnings]).toEqual([5, ['w']]);
    await client.createAgent({ graphName: 'guard', warmUp: true });
    await expect(client.createAgent({ graphName: 'guard', graph: {} })).rejects.toThrow('graph or graphName, not both');
    expect(received).toMatchObject([
      { requestId: 1, configureSession: { engine: 'mock', storageDataFolder: '' } },
      {
        requestId: 2,
        createAgent: { graphJson: '{"b":1,"a":2}', historyJson: '[]', maxStepsPerTurn: 3, warmUp: false },
      },
      { requestId: 3, createAgent: { graphName: 'guard', historyJson: '', warmUp: true } },
    ]);
  });

  it('streams a turn, and resolves with its summary', async () => {
    const { client, received } = await connectToFakeServer(
      (frame, send, socket) => {
        if (frame.body !== 'sendMessage') return acceptAgents(frame, send, socket);
        const turn = { agentId: 5, turnId: 9, nodeName: 'answer' };
        send('answerText', { ...turn, text: 'Hel', isDelta: true });
        send('nodeEvent', { ...turn, eventType: 'guard', payloadJson: '{"hit":', part: 1, of: 2 });
        send('nodeEvent', { ...turn, eventType: 'guard', payloadJson: 'true}', part: 2, of: 2 });
        send('answerText', { ...turn, text: 'lo', isDelta: true });
        send('toolCallNotification', { ...turn, callId: 'c', toolName: 'lamp', typedArgumentsJson: '{"on":true}' });
        send('answerText', { ...turn, isFinal: true });
        send('turnComplete', {
          ...turn,
          status: 'SUCCESS',
          path: [{ nodeName: 'answer', exit: 'default' }],
          tokensPrompt: 7,
          debugInfo: '{"x":1}',
        });
      },
      { codec },
    );
    const callbackArgs: unknown[] = [];
    const turn = (await createTestAgent(client)).send('hello', {
      variables: { mood: 'calm' },
      onText: (piece, { nodeName }) => callbackArgs.push([piece, nodeName]),
      onCall: (call) => callbackArgs.push(call.arguments),
      onEvent: (event) => callbackArgs.push(event),
    });
    expect(await collect(turn)).toEqual(['Hel', 'lo']);
    expect(await collect(turn)).toEqual(['Hel', 'lo']);
    const event = { nodeName: 'answer', eventType: 'guard', mode: 'AUTO', payload: { hit: true } };
    expect(callbackArgs).toEqual([['Hel', 'answer'], event, ['lo', 'answer'], { on: true }]);
    expect(await turn.done).toMatchObject({
      text: 'Hello',
      status: 'SUCCESS',
      calls: [{ toolName: 'lamp', arguments: { on: true } }],
      events: [event],
      path: [{ nodeName: 'answer', exit: 'default' }],
      tokens: { prompt: 7, reused: 0, generated: 0 },
      debugInfo: { x: 1 },
    });
    for await (const call of turn.calls) expect(call.callId).toBe('c');
    expect(received[1]).toMatchObject({ sendMessage: { agentId: 5, text: 'hello', variables: { mood: 'calm' } } });
  });

  it('cancels a turn by signal or method, which is no error', async () => {
    let turnRequest: SendFrame | undefined;
    const { client, received } = await connectToFakeServer(
      (frame, send, socket) => {
        if (frame.body === 'sendMessage') {
          turnRequest = send;
          send('answerText', { turnId: 9, text: 'Once', isDelta: true });
        } else if (frame.body === 'cancelTurn') {
          send('ack');
          turnRequest?.('turnComplete', { turnId: 9, status: 'CANCELLED' });
        } else acceptAgents(frame, send, socket);
      },
      { codec },
    );
    const agent = await createTestAgent(client);
    const aborter = new AbortController();
    const first = agent.send('tell me', { signal: aborter.signal, onText: () => aborter.abort() });
    expect(await first.done).toMatchObject({ text: 'Once', status: 'CANCELLED' });
    const second = agent.send('tell me');
    for await (const piece of second.text) if (piece) second.cancel();
    expect((await second.done).status).toBe('CANCELLED');
    second.cancel();
    expect(received.filter(({ body }) => body === 'cancelTurn')).toMatchObject([
      { cancelTurn: { agentId: 5, turnId: 9 } },
      { cancelTurn: { agentId: 5, turnId: 9 } },
    ]);
    await expect(agent.send('x', { signal: aborter.signal }).done).rejects.toThrow('aborted');
  });

  it.each<[string, number, (first: SendFrame, second: SendFrame) => void, number]>([
    ['has an id', 1, (_, second) => second('answerText', { turnId: 9, text: 'Once', isDelta: true }), 9],
    ['is the only one', 1, (first) => first('turnComplete', { turnId: 8, status: 'SUCCESS' }), 0],
    ['is the only one again', 0, (_, second) => second('error', { name: 'AGENT_BUSY' }), 0],
  ])('delays the cancel of one of two pending turns until that %s', async (_, cancelled, respond, turnId) => {
    const responses: SendFrame[] = [];
    const { client, received } = await connectToFakeServer(
      (frame, send, socket) => {
        if (frame.body === 'sendMessage') responses.push(send);
        else if (frame.body === 'listModels') {
          send('listModels');
          const [first, second] = responses;
          if (first && second) respond(first, second);
        } else if (frame.body === 'cancelTurn') {
          send('ack');
          for (const end of responses) end('turnComplete', { status: 'CANCELLED' });
        } else acceptAgents(frame, send, socket);
      },
      { codec },
    );
    const agent = await createTestAgent(client);
    const turns = [agent.send('tell me'), agent.send('and now')];
    turns[cancelled]?.cancel();
    await client.listModels();
    await Promise.allSettled(turns);
    expect(received.slice(1)).toMatchObject([
      { body: 'sendMessage' },
      { body: 'sendMessage' },
      { body: 'listModels' },
      { cancelTurn: { agentId: 5, turnId } },
    ]);
  });

  it('rejects a failed turn with the fault of the server, without an unhandled rejection', async () => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    cleanups.push(() => process.off('unhandledRejection', unhandled));
    const { client } = await connectToFakeServer(
      (frame, send, socket) => {
        if (frame.body !== 'sendMessage') return acceptAgents(frame, send, socket);
        send('answerText', { turnId: 9, text: 'Half', isDelta: true });
        send('turnComplete', {
          status: 'ERROR',
          error: { code: 4003, name: 'MAX_STEPS_EXCEEDED', message: 'too far' },
        });
      },
      { codec },
    );
    const turn = (await createTestAgent(client)).send('hello');
    await expect(collect(turn)).rejects.toThrow('too far');
    await new Promise((later) => setImmediate(later));
    expect(unhandled).not.toHaveBeenCalled();
    await expect(turn.done).rejects.toMatchObject({ code: 4003, name: 'MAX_STEPS_EXCEEDED' });
    // Like a promise.
    expect(await turn.catch((error: unknown) => error)).toMatchObject({ code: 4003 });
    let ended = false;
    await expect(turn.finally(() => (ended = true))).rejects.toMatchObject({ code: 4003 });
    expect(ended).toBe(true);
  });

  it('rejects any request with the fault of an ErrorResponse', async () => {
    const detail = '[{"node":"a"}]';
    const { client } = await connectToFakeServer(
      (_, send) => send('error', { code: 3003, name: 'GRAPH_COMPILATION_FAILED', message: 'no', detail }),
      { codec },
    );
    await expect(createTestAgent(client)).rejects.toMatchObject({ code: 3003, message: 'no', detail });
    await expect(client.request('deleteModel', { modelName: 'x' })).rejects.toMatchObject({ code: 3003 });
  });

  it('lists models over pages, loads them with progress, and joins an exported dialog', async () => {
    const { client } = await connectToFakeServer(
      (frame, send, socket) => {
        if (frame.body === 'listModels') {
          const first = frame.listModels.pageToken === '';
          return send('listModels', { models: [model(first ? 'a' : 'b')], nextPageToken: first ? '2' : '' });
        }
        if (frame.body === 'loadModel') {
          send('modelProgress', { modelName: 'a', phase: 'LOADING', fraction: 0.5 });
          return send('loadModel');
        }
        if (frame.body !== 'exportDialog') return acceptAgents(frame, send, socket);
        send('exportDialog', { part: 1, of: 2, historyJson: '[{"user"' });
        send('exportDialog', { part: 2, of: 2, historyJson: ':"hi"}]' });
      },
      { codec },
    );
    expect((await client.listModels()).map(({ name }) => name)).toEqual(['a', 'b']);
    const onProgress = vi.fn();
    await client.loadModel('a', { onProgress });
    expect(onProgress).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ phase: 'LOADING', fraction: 0.5 }));
    expect(await (await createTestAgent(client)).exportDialog()).toBe('[{"user":"hi"}]');
  });

  it('downloads and deletes models, and reports the progress for an agent', async () => {
    const { client, received } = await connectToFakeServer(
      (frame, send, socket) => {
        if (frame.body === 'cancelDownload' || frame.body === 'deleteModel') return send('ack');
        send('modelProgress', { modelName: 'a', phase: 'DOWNLOADING', fraction: 0.5, bytesDone: 4, bytesTotal: 8 });
        return frame.body === 'downloadModel'
          ? send('downloadModel', { sizeBytes: 8 })
          : acceptAgents(frame, send, socket);
      },
      { codec },
    );
    const half = { modelName: 'a', phase: 'DOWNLOADING', fraction: 0.5, bytesDone: 4, bytesTotal: 8 };
    const onProgress = vi.fn();
    expect(await client.downloadModel('a', { onProgress })).toBe(8);
    expect(onProgress).toHaveBeenCalledExactlyOnceWith(half);
    await client.createAgent({ graphName: 'guard', onProgress });
    expect(onProgress.mock.calls).toEqual([[half], [half]]);
    await client.cancelDownload('a');
    await client.deleteModel('a');
    expect(received.map(({ body }) => body)).toEqual(['downloadModel', 'createAgent', 'cancelDownload', 'deleteModel']);
    expect(received.slice(2)).toMatchObject([
      { cancelDownload: { modelName: 'a' } },
      { deleteModel: { modelName: 'a' } },
    ]);
  });

  it('cancels a download only while it runs, when its signal is aborted or its listener throws', async () => {
    let isStalled = true;
    const { client, received } = await connectToFakeServer(
      (frame, send) => {
        if (frame.body === 'cancelDownload') return send('ack');
        send('modelProgress', { modelName: 'a', phase: 'DOWNLOADING', fraction: 0.5 });
        if (!isStalled) send('downloadModel', { sizeBytes: 8 });
      },
      { codec },
    );
    const aborter = new AbortController();
    const reason = new Error('enough');
    const onProgress = (): void => aborter.abort(reason);
    const { signal } = aborter;
    await expect(client.downloadModel('a', { onProgress, signal })).rejects.toBe(reason);
    await expect(client.downloadModel('a', { signal })).rejects.toBe(reason);
    const throwing = (): never => {
      throw new TypeError('no such bar');
    };
    await expect(client.downloadModel('a', { onProgress: throwing })).rejects.toThrow('no such bar');
    isStalled = false;
    const later = new AbortController();
    await client.downloadModel('a', { signal: later.signal });
    later.abort();
    await client.cancelDownload('b');
    expect(received.map(({ body }) => body)).toEqual([
      'downloadModel',
      'cancelDownload',
      'downloadModel',
      'cancelDownload',
      'downloadModel',
      'cancelDownload',
    ]);
  });
});

const model = (name: string) => ({ ...blankModel, name });
const blankModel = {
  status: 'ABSENT',
  pinned: false,
  agents: 0,
  sizeBytes: 0,
  contextSize: 0,
  toolCallFormat: '',
  toolCallFormatDetected: false,
  huggingfaceRepo: '',
  files: [],
  license: '',
  defaultSampling: null,
  description: '',
  backend: '',
  gpuLayers: 0,
  threads: 0,
  slots: 0,
  weightsBytes: 0,
  contextBytes: 0,
  slotBytes: 0,
  vramBytes: 0,
  prefillThreads: 0,
  purpose: 'chat',
  tokensPerSecond: 0,
  choice: '',
} as const;
