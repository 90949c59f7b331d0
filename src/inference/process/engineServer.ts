import { LlamaEngine } from '../llama/engine.ts';
import type { SetGuardState } from './guard.ts';
import type { InferenceSchedule } from '../contract/pace.ts';
import { ActivityTimer } from './activityTimer.ts';
import { HostedModel } from './hostedModel.ts';
import type { EngineRequests, ServerRequests } from './messages.ts';
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
  const hosted = new HostedModel();
  const handlers: RequestHandlers<EngineRequests> = {
    async prepare({ params: { gpu } }) {
      await whileLoading(() => engine.prepare(gpu));
      return undefined;
    },
    async load({ params, signal, emit }) {
      const { file, options, isResizable } = params;
      const onContext = (context: HostedModel['context']): void => void (hosted.context = context);
      const resizing = isResizable ? remoteResizing(peer) : undefined;
      const load = () => engine.load(file, { ...options, resizing, signal, onProgress: emit }, onContext);
      hosted.model = await whileLoading(load);
      const { contextSize, toolDialect, canSpeculate, notes, overhead, replyMarks, embedding } = hosted.model;
      return { contextSize, toolDialect, canSpeculate, notes, overhead, replyMarks, embedding };
    },
    estimate: ({ params: { file, options }, signal }) =>
      whileLoading(() => engine.estimate(file, { ...options, signal })),
    async stop() {
      await hosted.stop();
      return undefined;
    },
    async shrink() {
      await hosted.loaded.shrink?.();
      return undefined;
    },
    count: ({ params: { texts } }) => hosted.loaded.count(texts),
    embed: ({ params: { texts, options }, signal }) => hosted.embed(texts, { ...options, signal }),
    countTools: ({ params: { tools } }) => hosted.loaded.countTools(tools),
    render: ({ params: { prompt } }) => hosted.loaded.render(prompt),
    describe: async () => hosted.loaded.describe?.(),
    generate({ params, signal, paused, emit }) {
      const { sampling, controlTokens, maxThinkingTokens, transcript, prompt } = params;
      const target = hosted.sequence(params.sequence);
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
    score({ params: { sequence: id, prompt, schedule: plain, answers, transcript }, signal }) {
      const { sequence } = hosted.sequence(id);
      return paces.run(plain, (schedule) => sequence.score(prompt, answers, { ...schedule, transcript, signal }));
    },
    async prefill({ params: { sequence: id, prompt, schedule: plain, keep }, signal }) {
      const { sequence } = hosted.sequence(id);
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
    async closeSequence({ params: { sequence } }) {
      await hosted.closeSequence(sequence);
      return undefined;
    },
  };
  const reportStats = (): void => {
    const stats = hosted.changedStats();
    if (stats) peer.tell('stats', { stats });
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
  const heartbeat = (): void => peer.tell('heartbeat', hosted.progress());
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
