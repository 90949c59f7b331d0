import { LlamaEngine } from '../llama/engine.ts';
import type { SetGuardState } from './guard.ts';
import type { InferenceSchedule } from '../contract/pace.ts';
import { ActivityTimer } from './activityTimer.ts';
import { HostedModel } from './hostedModel.ts';
import type { BatchProgress, EngineRequests, ServerRequests } from './messages.ts';
import { Peer, type RequestHandlers, type SendBatch } from './peer.ts';
import type { ProcessPriority } from './lowerPriority.ts';
import { ReceivedPaces } from './receivedPaces.ts';
import { remoteResizing } from './remoteResizing.ts';
import { RemotePromptFiles } from './remotePromptFiles.ts';
import { RemoteStateFiles, type EnginePeer } from './remoteStateFiles.ts';

/** Settings that a server process gives an engine process when it starts it. */
export interface EngineProcessSettings {
  /** Process id of the server process. */
  readonly serverPid: number;
  /** Whether KV states are swapped to disk, and those of heads of prompts kept there. */
  readonly swapsStates: boolean;
  /** Folder of the thread benchmarks; absent: none is kept. */
  readonly timingsFolder?: string;
  readonly priority: ProcessPriority;
  /** Milliseconds between two heartbeats. */
  readonly heartbeatMs: number;
  /** The one graphics card that the process sees; absent: all. */
  readonly gpuDevice?: number;
}

const statsIntervalMs = 100;

/** Serves the requests of the server process with the llama.cpp engine. `setGuardState` tells the guard of the process. */
export function serveEngine(
  sendBatch: SendBatch,
  settings: EngineProcessSettings,
  setGuardState: SetGuardState,
): Pick<EnginePeer, 'receive'> {
  let loads = 0;
  const whileLoading = async <T>(work: () => Promise<T>): Promise<T> => {
    loads++;
    setGuardState('loading');
    try {
      return await work();
    } finally {
      if (--loads === 0) setGuardState('working');
    }
  };
  const paces = new ReceivedPaces();
  const models = new Map<number, HostedModel>();
  const hosted = (id: number): HostedModel => {
    const model = models.get(id);
    if (!model) throw new Error(`there is no model ${id} in this process`);
    return model;
  };
  const handlers: RequestHandlers<EngineRequests> = {
    async prepare({ params: { gpu } }) {
      await whileLoading(() => engine.prepare(gpu));
      return undefined;
    },
    async load({ params, signal, emit }) {
      const { model: id, file, options, isResizable } = params;
      const own = new HostedModel(id);
      models.set(id, own);
      const onContext = (context: HostedModel['context']): void => void (own.context = context);
      try {
        const resizing = isResizable ? remoteResizing(peer, id) : undefined;
        const load = () => engine.load(file, { ...options, resizing, signal, onProgress: emit }, onContext);
        own.model = await whileLoading(load);
      } catch (error) {
        models.delete(id);
        throw error;
      }
      const { contextSize, toolDialect, canSpeculate, notes, overhead, replyMarks, embedding } = own.model;
      return { contextSize, toolDialect, canSpeculate, notes, overhead, replyMarks, embedding };
    },
    estimate: ({ params: { file, options }, signal }) =>
      whileLoading(() => engine.estimate(file, { ...options, signal })),
    async stop({ params: { model } }) {
      await hosted(model).stop();
      return undefined;
    },
    async shrink({ params: { model } }) {
      await hosted(model).loaded.shrink?.();
      return undefined;
    },
    async unload({ params: { model } }) {
      const { loaded } = hosted(model);
      await loaded[Symbol.asyncDispose]();
      models.delete(model);
      return undefined;
    },
    count: ({ params: { model, texts } }) => hosted(model).loaded.count(texts),
    embed: ({ params: { model, texts, options }, signal }) => hosted(model).embed(texts, { ...options, signal }),
    countTools: ({ params: { model, tools } }) => hosted(model).loaded.countTools(tools),
    render: ({ params: { model, prompt } }) => hosted(model).loaded.render(prompt),
    describe: async ({ params: { model } }) => hosted(model).loaded.describe?.(),
    generate({ params, signal, paused, emit }) {
      const { sampling, controlTokens, maxThinkingTokens, transcript, prompt } = params;
      const target = hosted(params.model).sequence(params.sequence);
      const grammar = params.grammar === 'previous' ? target.grammar : params.grammar;
      target.grammar = grammar;
      const generate = (schedule: InferenceSchedule) =>
        target.sequence.generate(prompt, {
          ...schedule,
          sampling,
          controlTokens,
          transcript,
          signal,
          onText: emit,
          backpressure: paused,
          ...(grammar && { grammar }),
          ...(maxThinkingTokens !== undefined && { maxThinkingTokens }),
        });
      return paces.run(params.schedule, generate);
    },
    score({ params: { model, sequence: id, prompt, schedule: plain, answers, transcript }, signal }) {
      const { sequence } = hosted(model).sequence(id);
      return paces.run(plain, (schedule) => sequence.score(prompt, answers, { ...schedule, transcript, signal }));
    },
    async prefill({ params: { model, sequence: id, prompt, schedule: plain, keep }, signal }) {
      const { sequence } = hosted(model).sequence(id);
      return paces.run(plain, (schedule) => sequence.prefill(prompt, signal, { ...schedule, keep }));
    },
    setPace({ params: { id, limits } }) {
      paces.set(id, limits);
      for (const timer of timers) timer.wake();
      return undefined;
    },
    stateEvicted({ params: { id } }) {
      states.dropped(id);
      return undefined;
    },
    async closeSequence({ params: { model, sequence } }) {
      await models.get(model)?.closeSequence(sequence);
      return undefined;
    },
  };
  const reportStats = (): void => {
    for (const model of models.values()) {
      const stats = model.changedStats();
      if (stats) peer.tell('stats', { model: model.id, stats });
    }
  };
  // Called after each request that has come, and before each answer.
  const beforeFlush = (): void => {
    for (const timer of timers) timer.wake();
    reportStats();
  };
  const peer: EnginePeer = new Peer<ServerRequests, EngineRequests>(sendBatch, handlers, beforeFlush);
  const states = new RemoteStateFiles(peer);
  const engine = new LlamaEngine({
    states: settings.swapsStates ? states : undefined,
    prompts: settings.swapsStates ? new RemotePromptFiles(peer) : undefined,
    timingsFolder: settings.timingsFolder,
    gpuDevice: settings.gpuDevice,
  });
  const heartbeat = (): void => {
    const progress = [...models.values()].map((model) => model.progress());
    peer.tell(
      'heartbeat',
      progress.filter((known): known is BatchProgress => known !== undefined),
    );
  };
  const isActive = (): boolean => peer.running > paces.paused;
  // Statistics also change without a message: a generation gets its slot.
  const timers = [
    new ActivityTimer(statsIntervalMs, isActive, reportStats),
    new ActivityTimer(settings.heartbeatMs, isActive, heartbeat, () => setGuardState('idle')),
  ];
  return {
    receive(messages) {
      // Before they are handled: that may block the event loop for ever.
      if (loads === 0) setGuardState('working');
      for (const timer of timers) timer.start();
      peer.receive(messages);
    },
  };
}
