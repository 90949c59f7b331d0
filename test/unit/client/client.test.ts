import { describe, expect, it, vi } from 'vitest';
import type { TurnHandle } from '../../../src/client/index.ts';
import {
  createTestAgent,
  connectToFakeServer,
  acceptAgents,
  cleanups,
  type SendFrame,
} from '../../helpers/fakeServer.ts';

const collect = async (turn: TurnHandle): Promise<string[]> => {
  const pieces: string[] = [];
  for await (const piece of turn.text) pieces.push(piece);
  return pieces;
};

describe.each(['proto', 'json'] as const)('a client that speaks %s', (codec) => {
  it('knows its session, configures it and makes agents of graphs or of their names', async () => {
    const { client, received } = await connectToFakeServer(
      (frame, say, socket) =>
        frame.body === 'configureSession' ? say('configureSession') : acceptAgents(frame, say, socket),
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

  it('hears a turn as it goes, and its account at the end', async () => {
    const { client, received } = await connectToFakeServer(
      (frame, say, socket) => {
        if (frame.body !== 'sendMessage') return acceptAgents(frame, say, socket);
        const turn = { agentId: 5, turnId: 9, nodeName: 'answer' };
        say('answerText', { ...turn, text: 'Hel', isDelta: true });
        say('nodeEvent', { ...turn, eventType: 'guard', payloadJson: '{"hit":', part: 1, of: 2 });
        say('nodeEvent', { ...turn, eventType: 'guard', payloadJson: 'true}', part: 2, of: 2 });
        say('answerText', { ...turn, text: 'lo', isDelta: true });
        say('toolCallNotification', { ...turn, callId: 'c', toolName: 'lamp', typedArgumentsJson: '{"on":true}' });
        say('answerText', { ...turn, isFinal: true });
        say('turnComplete', {
          ...turn,
          status: 'SUCCESS',
          path: [{ nodeName: 'answer', exit: 'default' }],
          tokensPrompt: 7,
          debugInfo: '{"x":1}',
        });
      },
      { codec },
    );
    const told: unknown[] = [];
    const turn = (await createTestAgent(client)).send('hello', {
      variables: { mood: 'calm' },
      onText: (piece, { nodeName }) => told.push([piece, nodeName]),
      onCall: (call) => told.push(call.arguments),
      onEvent: (event) => told.push(event),
    });
    expect(await collect(turn)).toEqual(['Hel', 'lo']);
    expect(await collect(turn)).toEqual(['Hel', 'lo']);
    const event = { nodeName: 'answer', eventType: 'guard', payload: { hit: true } };
    expect(told).toEqual([['Hel', 'answer'], event, ['lo', 'answer'], { on: true }]);
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

  it('cancels a turn by signal or by hand, which is no failure', async () => {
    let turnRequest: SendFrame | undefined;
    const { client, received } = await connectToFakeServer(
      (frame, say, socket) => {
        if (frame.body === 'sendMessage') {
          turnRequest = say;
          say('answerText', { turnId: 9, text: 'Once', isDelta: true });
        } else if (frame.body === 'cancelTurn') {
          say('ack');
          turnRequest?.('turnComplete', { turnId: 9, status: 'CANCELLED' });
        } else acceptAgents(frame, say, socket);
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
    ['has its number', 1, (_, second) => second('answerText', { turnId: 9, text: 'Once', isDelta: true }), 9],
    ['is alone', 1, (first) => first('turnComplete', { turnId: 8, status: 'SUCCESS' }), 0],
    ['is alone again', 0, (_, second) => second('error', { name: 'AGENT_BUSY' }), 0],
  ])('keeps the cancel of one of two turns back until that %s', async (_, cancelled, tell, turnId) => {
    const says: SendFrame[] = [];
    const { client, received } = await connectToFakeServer(
      (frame, say, socket) => {
        if (frame.body === 'sendMessage') says.push(say);
        else if (frame.body === 'listModels') {
          say('listModels');
          const [first, second] = says;
          if (first && second) tell(first, second);
        } else if (frame.body === 'cancelTurn') {
          say('ack');
          for (const end of says) end('turnComplete', { status: 'CANCELLED' });
        } else acceptAgents(frame, say, socket);
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

  it('rejects a turn that fails with the Fault of the server, and needs nobody to catch it', async () => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    cleanups.push(() => process.off('unhandledRejection', unhandled));
    const { client } = await connectToFakeServer(
      (frame, say, socket) => {
        if (frame.body !== 'sendMessage') return acceptAgents(frame, say, socket);
        say('answerText', { turnId: 9, text: 'Half', isDelta: true });
        say('turnComplete', { status: 'ERROR', error: { code: 4003, name: 'MAX_STEPS_EXCEEDED', message: 'too far' } });
      },
      { codec },
    );
    const turn = (await createTestAgent(client)).send('hello');
    await expect(collect(turn)).rejects.toThrow('too far');
    await new Promise((later) => setImmediate(later));
    expect(unhandled).not.toHaveBeenCalled();
    await expect(turn.done).rejects.toMatchObject({ code: 4003, name: 'MAX_STEPS_EXCEEDED' });
  });

  it('turns an ErrorResponse into a Fault, of any request', async () => {
    const detail = '[{"node":"a"}]';
    const { client } = await connectToFakeServer(
      (_, say) => say('error', { code: 3003, name: 'GRAPH_COMPILATION_FAILED', message: 'no', detail }),
      { codec },
    );
    await expect(createTestAgent(client)).rejects.toMatchObject({ code: 3003, message: 'no', detail });
    await expect(client.request('deleteModel', { modelName: 'x' })).rejects.toMatchObject({ code: 3003 });
  });

  it('lists models over pages, loads them with progress, and joins an exported dialog', async () => {
    const { client } = await connectToFakeServer(
      (frame, say, socket) => {
        if (frame.body === 'listModels') {
          const first = frame.listModels.pageToken === '';
          return say('listModels', { models: [model(first ? 'a' : 'b')], nextPageToken: first ? '2' : '' });
        }
        if (frame.body === 'loadModel') {
          say('modelProgress', { modelName: 'a', phase: 'LOADING', fraction: 0.5 });
          return say('loadModel');
        }
        if (frame.body !== 'exportDialog') return acceptAgents(frame, say, socket);
        say('exportDialog', { part: 1, of: 2, historyJson: '[{"user"' });
        say('exportDialog', { part: 2, of: 2, historyJson: ':"hi"}]' });
      },
      { codec },
    );
    expect((await client.listModels()).map(({ name }) => name)).toEqual(['a', 'b']);
    const onProgress = vi.fn();
    await client.loadModel('a', { onProgress });
    expect(onProgress).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ phase: 'LOADING', fraction: 0.5 }));
    expect(await (await createTestAgent(client)).exportDialog()).toBe('[{"user":"hi"}]');
  });

  it('downloads models and deletes them, and hears how far the model of an agent is', async () => {
    const { client, received } = await connectToFakeServer(
      (frame, say, socket) => {
        if (frame.body === 'cancelDownload' || frame.body === 'deleteModel') return say('ack');
        say('modelProgress', { modelName: 'a', phase: 'DOWNLOADING', fraction: 0.5, bytesDone: 4, bytesTotal: 8 });
        return frame.body === 'downloadModel'
          ? say('downloadModel', { sizeBytes: 8 })
          : acceptAgents(frame, say, socket);
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

  it('leaves a download when its signal is aborted or its listener throws, and not before or after', async () => {
    let silent = true;
    const { client, received } = await connectToFakeServer(
      (frame, say) => {
        if (frame.body === 'cancelDownload') return say('ack');
        say('modelProgress', { modelName: 'a', phase: 'DOWNLOADING', fraction: 0.5 });
        if (!silent) say('downloadModel', { sizeBytes: 8 });
      },
      { codec },
    );
    const aborter = new AbortController();
    const enough = new Error('enough');
    const onProgress = (): void => aborter.abort(enough);
    const { signal } = aborter;
    await expect(client.downloadModel('a', { onProgress, signal })).rejects.toBe(enough);
    await expect(client.downloadModel('a', { signal })).rejects.toBe(enough);
    const broken = (): never => {
      throw new TypeError('no such bar');
    };
    await expect(client.downloadModel('a', { onProgress: broken })).rejects.toThrow('no such bar');
    silent = false;
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
} as const;
