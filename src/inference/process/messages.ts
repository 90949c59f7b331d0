import type { Prompt, ToolBlock } from '../../chat/dialog.ts';
import type { CallGrammar } from '../../chat/grammar/rule.ts';
import type { AnswerScores, Completion, LoadOptions, Model, WarmUpResult } from '../contract/engine.ts';
import type { Hardware, ModelStats, LoadPlan, MemoryUse } from '../contract/memory.ts';
import type { SamplingParams } from '../contract/samplingParams.ts';
import type { EmbedOptions, Embeddings, ModelDetails } from '../contract/model.ts';
import type { PaceLimits, Priority } from '../contract/pace.ts';
import type { Request } from './peer.ts';
import type { NewPrompt, SavedPrompt } from '../llama/cacheFiles.ts';

/** Facts about a loaded model that do not change. */
export type LoadedFacts = Pick<
  Model,
  'contextSize' | 'toolDialect' | 'canSpeculate' | 'notes' | 'overhead' | 'replyMarks' | 'embedding'
>;

export type PlainLoadOptions = Omit<LoadOptions, 'signal' | 'onProgress' | 'afterCrashes' | 'resizing'>;
type NoParams = Readonly<Record<string, never>>;

interface NumberedPace {
  readonly id: number;
  readonly limits: PaceLimits;
}

/** When an inference may compute, as plain data. */
export interface PlainSchedule {
  readonly priority: Priority;
  readonly pace?: NumberedPace;
}

interface OfSequence {
  /** Numbered by the server process. */
  readonly sequence: number;
  readonly prompt: Prompt;
  readonly schedule: PlainSchedule;
}

interface GenerateParams extends OfSequence {
  readonly sampling: SamplingParams;
  readonly controlTokens: boolean | readonly string[];
  readonly maxThinkingTokens: number | undefined;
  readonly transcript: boolean;
  readonly choices: boolean;
  /** `previous`: that of the sequence's last generation, so that what was derived from it is found again. */
  readonly grammar: CallGrammar | 'previous' | undefined;
}

interface ModelToLoad {
  readonly file: string;
  readonly options: PlainLoadOptions;
}

export interface OfFile {
  readonly path: string;
}

/** The requests of the server process to an engine process, which has one model. All parameters and results are plain data. */
export type EngineRequests = {
  /** Loads the library before it is needed. */
  readonly prepare: Request<Pick<LoadOptions, 'gpu'>>;
  /** `isResizable`: whether its number of slots may change. Events: the loaded fraction. */
  readonly load: Request<ModelToLoad & { readonly isResizable: boolean }, LoadedFacts, number>;
  /** What a model would take. */
  readonly estimate: Request<ModelToLoad, LoadPlan>;
  /** What memory and cards there are now. */
  readonly readHardware: Request<Pick<LoadOptions, 'gpu'>, Hardware>;
  /** Ends all generations. */
  readonly stop: Request<NoParams>;
  /** Gives back the slots that the model has got on demand. */
  readonly shrink: Request<NoParams>;
  readonly count: Request<{ readonly texts: readonly string[] }, readonly number[]>;
  readonly embed: Request<
    { readonly texts: readonly string[]; readonly options: Omit<EmbedOptions, 'signal'> },
    Embeddings
  >;
  readonly countTools: Request<{ readonly tools: ToolBlock }, number>;
  readonly render: Request<{ readonly prompt: Prompt }, string>;
  readonly describe: Request<NoParams, ModelDetails | undefined>;
  /** Events: pieces of text. */
  readonly generate: Request<GenerateParams, Completion, string>;
  readonly score: Request<
    OfSequence & { readonly answers: readonly string[]; readonly transcript: boolean },
    AnswerScores
  >;
  readonly prefill: Request<OfSequence & { readonly keep: boolean }, WarmUpResult>;
  /** The file of a KV state was deleted to make room for others. */
  readonly stateEvicted: Request<OfFile>;
  readonly closeSequence: Request<Pick<OfSequence, 'sequence'>>;
  /** The limits of a pace have changed that running requests have. */
  readonly setPace: Request<NumberedPace>;
};

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
  readonly heartbeat: Request<BatchProgress | undefined>;
  /** Sent when the statistics of the model have changed. */
  readonly stats: Request<{ readonly stats: ModelStats }>;
  /** Whether the model may take so much memory in all: see `SlotResizing`. */
  readonly requestMemory: Request<{ readonly use: MemoryUse }, boolean>;
  /** The model has another number of slots. */
  readonly resized: Request<{ readonly stats: ModelStats }>;
  /** Reserves disk space for a KV state. Result: the path of its file; undefined when the quota does not allow it. */
  readonly reserveState: Request<{ readonly bytes: number }, string | undefined>;
  readonly commitState: Request<OfFile & { readonly bytes: number }>;
  readonly beginReadState: Request<OfFile>;
  readonly dropState: Request<OfFile>;
  readonly stateFailed: Request<{ readonly reason: string }>;
  /** The prompt cache: see `PromptFiles`. */
  readonly listPrompts: Request<{ readonly key: string }, readonly SavedPrompt[]>;
  readonly savePrompt: Request<NewPrompt & OfFile, SavedPrompt | undefined>;
  readonly openPrompt: Request<{ readonly id: string }, string | undefined>;
  readonly closePrompt: Request<{ readonly id: string; readonly isUsable: boolean }>;
};
