import type { Embeddings, EmbedOptions } from '../contract/model.ts';
import type { Model, Sequence } from '../contract/engine.ts';
import type { ModelStats, SlotResizing } from '../contract/memory.ts';
import type { CallGrammar } from '../../chat/grammar/rule.ts';
import type { BatchProgress, EngineRequests, ServerRequests } from './messages.ts';
import type { ContextProgress } from '../llama/createContext.ts';
import { LlamaEngine } from '../llama/engine.ts';
import type { SetGuardState } from './guard.ts';
import { Peer, type RequestHandlers, type SendBatch } from './peer.ts';
import type { ProcessPriority } from './lowerPriority.ts';
import { ReceivedPaces } from './paces.ts';
import { describeError } from '../../protocol/fault.ts';
import type { StateFiles, PromptFiles } from '../llama/cacheFiles.ts';

/** Settings that a server process gives an engine process when it starts it. */
export interface EngineProcessSettings {
  /** Process id of the server process. */
  readonly serverPid: number;
  /** Whether KV states are swapped to disk, and those of heads of prompts kept there. */
  readonly writesFiles: boolean;
  /** Folder of the thread benchmarks; undefined: none is kept. */
  readonly timingsFolder: string | undefined;
  readonly priority: ProcessPriority;
  /** Milliseconds between two heartbeats. */
  readonly heartbeatMs: number;
  /** The one graphics card that the process sees; undefined: all. */
  readonly gpuDevice: number | undefined;
}

const statsIntervalMs = 100;

/** Serves the requests of the server process with the llama.cpp engine. */
export class EngineServer implements Pick<EnginePeer, 'receive'> {
  readonly #hosted = new HostedModel();
  readonly #paces = new ReceivedPaces();
  readonly #peer: EnginePeer;
  readonly #states: ReturnType<typeof remoteStateFiles>;
  readonly #engine: LlamaEngine;
  readonly #setGuardState: SetGuardState;
  readonly #timers: readonly ReturnType<typeof activityTimer>[];
  #loads = 0;

  /** @param setGuardState tells the guard of the process. */
  constructor(sendBatch: SendBatch, settings: EngineProcessSettings, setGuardState: SetGuardState) {
    this.#setGuardState = setGuardState;
    const handlers: RequestHandlers<EngineRequests> = {
      ...this.#loadHandlers(),
      ...modelHandlers(this.#hosted),
      ...sequenceHandlers(this.#hosted, this.#paces),
      setPace: ({ params: { id, limits } }) => {
        this.#paces.set(id, limits);
        for (const timer of this.#timers) timer.wake();
      },
      stateEvicted: ({ params: { path } }) => this.#states.dropped(path),
    };
    this.#peer = new Peer<ServerRequests, EngineRequests>(sendBatch, handlers, () => this.#beforeFlush());
    this.#states = remoteStateFiles(this.#peer);
    this.#engine = new LlamaEngine({
      files: settings.writesFiles ? { states: this.#states, prompts: remotePromptFiles(this.#peer) } : undefined,
      timingsFolder: settings.timingsFolder,
      gpuDevice: settings.gpuDevice,
    });
    const isActive = (): boolean => this.#peer.running > this.#paces.paused;
    const heartbeat = (): void => this.#peer.tell('heartbeat', this.#hosted.progress());
    // Statistics also change without a message: a generation gets its slot.
    this.#timers = [
      activityTimer(statsIntervalMs, isActive, () => this.#reportStats()),
      activityTimer(settings.heartbeatMs, isActive, heartbeat, () => setGuardState('idle')),
    ];
  }

  receive(messages: readonly unknown[]): void {
    // Before they are handled: that may block the event loop for ever.
    if (this.#loads === 0) this.#setGuardState('working');
    for (const timer of this.#timers) timer.start();
    this.#peer.receive(messages);
  }

  #loadHandlers(): Handlers<'prepare' | 'load' | 'estimate' | 'readHardware'> {
    return {
      prepare: ({ params: { gpu } }) => this.#whileLoading(() => this.#engine.prepare(gpu)),
      load: async ({ params: { file, options, isResizable }, signal, emit }) => {
        const onContext = (context: HostedModel['context']): void => void (this.#hosted.context = context);
        const resizing = isResizable ? remoteResizing(this.#peer) : undefined;
        const all = { ...options, resizing, signal, onProgress: emit };
        const model = await this.#whileLoading(() => this.#engine.load(file, all, onContext));
        this.#hosted.model = model;
        const { contextSize, toolDialect, canSpeculate, notes, overhead, replyMarks, embedding } = model;
        return { contextSize, toolDialect, canSpeculate, notes, overhead, replyMarks, embedding };
      },
      estimate: ({ params: { file, options }, signal }) =>
        this.#whileLoading(() => this.#engine.estimate(file, { ...options, signal })),
      readHardware: ({ params: { gpu } }) => this.#whileLoading(() => this.#engine.readHardware(gpu)),
    };
  }

  async #whileLoading<T>(work: () => Promise<T>): Promise<T> {
    this.#loads++;
    this.#setGuardState('loading');
    try {
      return await work();
    } finally {
      if (--this.#loads === 0) this.#setGuardState('working');
    }
  }

  #reportStats(): void {
    const stats = this.#hosted.changedStats();
    if (stats) this.#peer.tell('stats', { stats });
  }

  /** Called after each request that has come, and before each answer. */
  #beforeFlush(): void {
    for (const timer of this.#timers) timer.wake();
    this.#reportStats();
  }
}

/** Repeats work at intervals while something is active, else has no timer. @param onIdle is called when it stops. */
export function activityTimer(ms: number, isActive: () => boolean, work: () => void, onIdle?: () => void) {
  let timer: NodeJS.Timeout | undefined;
  // The work is done once more after the activity has ended.
  const tick = (): void => {
    work();
    if (isActive()) return;
    clearInterval(timer);
    timer = undefined;
    onIdle?.();
  };
  /** Something is going to be active, or is not: the next tick will see. */
  const start = (): void => void (timer ??= setInterval(tick, ms).unref());
  /** Something may have become active. */
  const wake = (): void => {
    if (isActive()) start();
  };
  return { start, wake };
}

type Handlers<Name extends keyof EngineRequests> = Pick<RequestHandlers<EngineRequests>, Name>;

const modelHandlers = (
  hosted: HostedModel,
): Handlers<'stop' | 'shrink' | 'count' | 'embed' | 'countTools' | 'render' | 'describe'> => ({
  stop: () => hosted.stop(),
  shrink: async () => hosted.loaded.shrink?.(),
  count: ({ params: { texts } }) => hosted.loaded.count(texts),
  embed: ({ params: { texts, options }, signal }) => hosted.embed(texts, { ...options, signal }),
  countTools: ({ params: { tools } }) => hosted.loaded.countTools(tools),
  render: ({ params: { prompt } }) => hosted.loaded.render(prompt),
  describe: async () => hosted.loaded.describe?.(),
});

const sequenceHandlers = (
  hosted: HostedModel,
  paces: ReceivedPaces,
): Handlers<'generate' | 'score' | 'prefill' | 'closeSequence'> => ({
  generate({ params, signal, paused, emit }) {
    const { sequence, prompt, schedule: plain, grammar: sent, maxThinkingTokens, ...rest } = params;
    const target = hosted.sequence(sequence);
    const grammar = sent === 'previous' ? target.grammar : sent;
    target.grammar = grammar;
    const thinking = maxThinkingTokens === undefined ? {} : { maxThinkingTokens };
    const options = { ...rest, ...thinking, ...(grammar && { grammar }), signal, onText: emit, backpressure: paused };
    return paces.run(plain, (schedule) => target.sequence.generate(prompt, { ...schedule, ...options }));
  },
  score({ params: { sequence: id, prompt, schedule: plain, answers, transcript }, signal }) {
    const { sequence } = hosted.sequence(id);
    return paces.run(plain, (schedule) => sequence.score(prompt, answers, { ...schedule, transcript, signal }));
  },
  async prefill({ params: { sequence: id, prompt, schedule: plain, keep }, signal }) {
    const { sequence } = hosted.sequence(id);
    return paces.run(plain, (schedule) => sequence.prefill(prompt, signal, { ...schedule, keep }));
  },
  closeSequence: ({ params: { sequence } }) => hosted.closeSequence(sequence),
});

interface HostedSequence {
  readonly sequence: Sequence;
  grammar: CallGrammar | undefined;
}

class HostedModel {
  model: Model | undefined;
  context: ContextProgress | undefined;
  readonly #sequences = new Map<number, HostedSequence>();
  #lastStats = '';

  /** The loaded model. @throws Error before it is loaded, which the server process waits for. */
  get loaded(): Model {
    if (!this.model) throw new Error('no model is loaded in this process');
    return this.model;
  }

  /** A sequence, which is opened if it is new. */
  sequence(id: number): HostedSequence {
    const existing = this.#sequences.get(id);
    if (existing) return existing;
    const opened: HostedSequence = { sequence: this.loaded.openSequence(), grammar: undefined };
    this.#sequences.set(id, opened);
    return opened;
  }

  /** Ends the generations of a sequence, and frees its KV state. */
  async closeSequence(id: number): Promise<void> {
    const hosted = this.#sequences.get(id);
    this.#sequences.delete(id);
    await hosted?.sequence[Symbol.asyncDispose]();
  }

  /** @throws Error for a chat model, which the server process does not ask. */
  embed(texts: readonly string[], options: EmbedOptions): Promise<Embeddings> {
    const { embed } = this.loaded;
    if (!embed) throw new Error('the model is no embedding model');
    return embed.call(this.loaded, texts, options);
  }

  /** Ends all generations. */
  async stop(): Promise<void> {
    await Promise.all([...this.#sequences.keys()].map((id) => this.closeSequence(id)));
  }

  /** The statistics, if they have changed since the last call. */
  changedStats(): ModelStats | undefined {
    const stats = this.model?.stats();
    const text = stats ? JSON.stringify(stats) : '';
    if (!stats || text === this.#lastStats) return undefined;
    this.#lastStats = text;
    return stats;
  }

  /** The progress of its batches; undefined before it has a context. */
  progress(): BatchProgress | undefined {
    if (!this.context) return undefined;
    const { running, ended } = this.context.batchTimer;
    return { running, ended, chunkMs: this.context.chunkMs() };
  }
}

type EnginePeer = Peer<ServerRequests, EngineRequests>;

/**
 * The files of KV states, as an engine process sees them: the server process owns the files and the quota of all engine
 * processes, and deletes those of a process that has crashed. This process writes and reads them.
 */
function remoteStateFiles(peer: EnginePeer) {
  const onDropByPath = new Map<string, () => void>();
  /** A file was dropped or evicted. */
  const dropped = (path: string): void => {
    const onDrop = onDropByPath.get(path);
    onDropByPath.delete(path);
    onDrop?.();
  };
  const reserve: StateFiles['reserve'] = async (bytes, onDrop) => {
    const path = await peer.request('reserveState', { bytes }).result;
    if (path === undefined) return undefined;
    onDropByPath.set(path, onDrop);
    return {
      path,
      commit: (size) => peer.tell('commitState', { path, bytes: size }),
      beginRead: () => peer.tell('beginReadState', { path }),
      drop: async () => {
        dropped(path);
        await peer.request('dropState', { path }).result;
      },
    };
  };
  const writeFailed = (error: unknown): void => peer.tell('stateFailed', { reason: describeError(error) });
  return { reserve, writeFailed, dropped };
}

/** The files of the prompt cache, as an engine process sees them: the server process owns and checks them. */
const remotePromptFiles = (peer: EnginePeer): PromptFiles => ({
  list: (key) => peer.request('listPrompts', { key }).result,
  save: (prompt, { path }) => peer.request('savePrompt', { ...prompt, path }).result,
  open: (id) => peer.request('openPrompt', { id }).result,
  close: (id, isUsable) => peer.request('closePrompt', { id, isUsable }).result,
});

/** The resizing of the model, as an engine process sees it: the server process has the memory budget and the log. */
const remoteResizing = (peer: EnginePeer): SlotResizing => ({
  requestMemory: (use) => peer.request('requestMemory', { use }).result,
  onResized: (stats) => peer.tell('resized', { stats }),
});
