import type { Prompt, ToolBlock } from '../../chat/dialog.ts';
import type { CallGrammar } from '../../chat/grammar/rule.ts';
import type { AnswerScores, Completion, LoadOptions, Model, WarmUpResult } from '../contract/engine.ts';
import type { ModelStats, LoadPlan, MemoryUse } from '../contract/memory.ts';
import type { SamplingParams } from '../contract/samplingParams.ts';
import type { NewPrompt, SavedPrompt } from '../llama/promptCache/promptFiles.ts';
import type { EmbedOptions, Embeddings, ModelDetails } from '../contract/model.ts';
import type { PaceLimits, Priority } from '../contract/pace.ts';

/** Facts about a loaded model that do not change. */
export type LoadedFacts = Pick<
  Model,
  'contextSize' | 'toolDialect' | 'canSpeculate' | 'notes' | 'overhead' | 'replyMarks' | 'embedding'
>;

/** Load options as plain data. */
export type PlainLoadOptions = Omit<LoadOptions, 'signal' | 'onProgress' | 'afterCrashes' | 'resizing'>;

type NoParams = Readonly<Record<string, never>>;

/** The limits of a pace, which the server process numbers. */
interface NumberedPace {
  readonly id: number;
  readonly limits: PaceLimits;
}

/** When an inference may compute, as plain data. */
export interface PlainSchedule {
  readonly priority: Priority;
  readonly pace?: NumberedPace;
}

/** The parameters of a request that concerns one sequence. Sequences are opened when they are first named. */
interface OfSequence {
  /** Numbered by the server process. */
  readonly sequence: number;
  readonly prompt: Prompt;
  readonly schedule: PlainSchedule;
}

/** The requests of the server process to an engine process, which has one model. All parameters and results are plain data. */
export type EngineRequests = {
  /** Loads the library before it is needed. */
  readonly prepare: { readonly params: Pick<LoadOptions, 'gpu'>; readonly result: undefined };
  /** Events: the loaded fraction. */
  readonly load: {
    readonly params: {
      readonly file: string;
      readonly options: PlainLoadOptions;
      /** Whether its number of slots may change. */
      readonly isResizable: boolean;
    };
    readonly result: LoadedFacts;
    readonly event: number;
  };
  /** What a model would take. */
  readonly estimate: {
    readonly params: { readonly file: string; readonly options: PlainLoadOptions };
    readonly result: LoadPlan;
  };
  /** Ends all generations. */
  readonly stop: { readonly params: NoParams; readonly result: undefined };
  /** Gives back the slots that the model has got on demand. */
  readonly shrink: { readonly params: NoParams; readonly result: undefined };
  readonly count: {
    readonly params: { readonly texts: readonly string[] };
    readonly result: readonly number[];
  };
  readonly embed: {
    readonly params: { readonly texts: readonly string[]; readonly options: Omit<EmbedOptions, 'signal'> };
    readonly result: Embeddings;
  };
  readonly countTools: { readonly params: { readonly tools: ToolBlock }; readonly result: number };
  readonly render: { readonly params: { readonly prompt: Prompt }; readonly result: string };
  readonly describe: { readonly params: NoParams; readonly result: ModelDetails | undefined };
  /** Events: pieces of text. */
  readonly generate: {
    readonly params: OfSequence & {
      readonly sampling: SamplingParams;
      readonly controlTokens: boolean | readonly string[];
      readonly maxThinkingTokens: number | undefined;
      readonly transcript: boolean;
      /** `previous`: that of the sequence's last generation, so that what was derived from it is found again. */
      readonly grammar: CallGrammar | 'previous' | undefined;
    };
    readonly result: Completion;
    readonly event: string;
  };
  readonly score: {
    readonly params: OfSequence & { readonly answers: readonly string[]; readonly transcript: boolean };
    readonly result: AnswerScores;
  };
  readonly prefill: { readonly params: OfSequence & { readonly keep: boolean }; readonly result: WarmUpResult };
  /** The file of a KV state was deleted to make room for others. */
  readonly stateEvicted: { readonly params: { readonly path: string }; readonly result: undefined };
  readonly closeSequence: { readonly params: Omit<OfSequence, 'prompt' | 'schedule'>; readonly result: undefined };
  /** The limits of a pace have changed that running requests have. */
  readonly setPace: { readonly params: NumberedPace; readonly result: undefined };
};

/** The batches of the model's context. */
export interface BatchProgress {
  /** Whether a batch is being evaluated. */
  readonly running: boolean;
  /** Batches that have ended. */
  readonly ended: number;
  /** Milliseconds to evaluate a whole prefill chunk; undefined before it was measured. */
  readonly chunkMs: number | undefined;
}

/** The requests of an engine process to the server process. */
export type ServerRequests = {
  /** Sent at intervals while a request runs; undefined before the model has a context. */
  readonly heartbeat: { readonly params: BatchProgress | undefined; readonly result: undefined };
  /** Sent when the statistics of the model have changed. */
  readonly stats: { readonly params: { readonly stats: ModelStats }; readonly result: undefined };
  /** Whether the model may take so much memory in all: see `SlotResizing`. */
  readonly requestMemory: { readonly params: { readonly use: MemoryUse }; readonly result: boolean };
  /** The model has another number of slots. */
  readonly resized: { readonly params: { readonly stats: ModelStats }; readonly result: undefined };
  /** Reserves disk space for a KV state. Result: the path of its file; undefined when the quota does not allow it. */
  readonly reserveState: { readonly params: { readonly bytes: number }; readonly result: string | undefined };
  readonly commitState: {
    readonly params: { readonly path: string; readonly bytes: number };
    readonly result: undefined;
  };
  readonly beginReadState: { readonly params: { readonly path: string }; readonly result: undefined };
  readonly dropState: { readonly params: { readonly path: string }; readonly result: undefined };
  /** The prompt cache: see `PromptFiles`. */
  readonly listPrompts: { readonly params: { readonly key: string }; readonly result: readonly SavedPrompt[] };
  readonly savePrompt: {
    readonly params: NewPrompt & { readonly path: string };
    readonly result: SavedPrompt | undefined;
  };
  readonly openPrompt: { readonly params: { readonly id: string }; readonly result: string | undefined };
  readonly closePrompt: {
    readonly params: { readonly id: string; readonly isUsable: boolean };
    readonly result: undefined;
  };
  readonly stateFailed: { readonly params: { readonly reason: string }; readonly result: undefined };
};
