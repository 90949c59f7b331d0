import type { InferenceSchedule } from './pace.ts';
import { Fault } from '../../protocol/fault.ts';
import type { Prompt, ToolBlock } from '../../chat/dialog.ts';
import type {
  EmbeddingFacts,
  Embeddings,
  EmbedOptions,
  LoraFile,
  ModelDetails,
  ModelLimits,
  ModelPurpose,
  ModelSupervision,
  RemoteModel,
} from './model.ts';
import type { CallGrammar } from '../../chat/grammar/rule.ts';
import type { ToolDialect } from '../../chat/dialect/layout.ts';
import type { ReplyMarks } from '../../chat/replyMarks.ts';
import type { Hardware, LoadPlan, MemoryUse, ModelStats, SlotResizing } from './memory.ts';
import type { SamplingParams } from './samplingParams.ts';

/** Why a generation ended: end of generation token, max_tokens or full context, stop string, abort signal. */
export type FinishReason = 'end' | 'length' | 'stop' | 'aborted';

/** A part of a prompt as the model sees it: one control token, or the text between two of them. */
export interface PromptPiece {
  /** Of a control token: its name. */
  readonly text: string;
  /** Whether it is a control token. A control string in the text of a user, a document or a tool is none. */
  readonly special: boolean;
}

/** What a model was given and what it generated, for diagnostics. */
export interface Transcript {
  /** The whole prompt from its first token on. */
  readonly prompt: readonly PromptPiece[];
  /** All generated text, control tokens by name, without the end of generation token. It continues the prompt. */
  readonly text: string;
}

export interface InferenceResult {
  readonly finishReason: FinishReason;
  /** `prompt` counts the whole prompt; `reused` is the part of it that the KV cache held already (prefix reuse). */
  readonly tokens: { readonly prompt: number; readonly reused: number; readonly generated: number };
  /** Milliseconds from the call until a slot was acquired, until the first token (0 = no token), and until the end. */
  readonly timings: { readonly queuedMs: number; readonly firstTokenMs: number; readonly totalMs: number };
  /** Present where `transcript` asks for it, unless the inference was aborted before it started. */
  readonly transcript?: Transcript;
}

/** A part of a generated text that a model has chosen. */
export interface TokenChoice {
  /** Offsets in the text, in UTF-16 units. */
  readonly start: number;
  readonly end: number;
  /** From 0 to 1, at temperature 1 and without a sampler; in constrained text among the tokens that the grammar allows. */
  readonly probability: number;
}

/** The result of a generation. */
export interface Completion extends InferenceResult {
  readonly text: string;
  /** What of the text the model has chosen, in its order. Absent: `choices` does not ask for it, or it is not known. */
  readonly choices?: readonly TokenChoice[];
}

export interface GenerateOptions extends InferenceSchedule {
  readonly sampling: SamplingParams;
  /** Ends the generation within one token or one prefill chunk; the completion has the text generated until then. */
  readonly signal: AbortSignal;
  /** Called with each piece of text, whole code points, never with a part of a stop string. */
  readonly onText?: (piece: string) => void;
  /** Backpressure, checked between tokens: a promise to wait for, or undefined. One more token may come before. */
  readonly backpressure?: () => Promise<void> | undefined;
  /** Whether control tokens appear in the text by name, or which (never the end of generation). Default false. */
  readonly controlTokens?: boolean | readonly string[];
  /**
   * Grammar for constrained decoding. Constrained text matches its rule, unless the generation ends with `length` or
   * `aborted`; stop strings have no effect in it. An engine without a model may ignore the grammar.
   */
  readonly grammar?: CallGrammar;
  /** After so many reasoning tokens the engine closes the reasoning. Default: never. The mock may ignore it. */
  readonly maxThinkingTokens?: number;
  /** Whether the completion has the choices of the tokens that may be parts of calls. Default false. */
  readonly choices?: boolean;
  /** Whether the result has a transcript. Default false. */
  readonly transcript?: boolean;
  /** The number of this inference within its turn, from 1. For scripted engines, as is `message`; others ignore both. */
  readonly inference?: number;
  /** What stands for the user's message in the prompt. Default: the last user message that is no tool result. */
  readonly message?: string;
}

export interface ScoreOptions extends InferenceSchedule, Pick<GenerateOptions, 'transcript' | 'inference' | 'message'> {
  /** Ends the scoring within one answer or one prefill chunk. */
  readonly signal: AbortSignal;
}

/** The result of a scoring: how probable each answer is as the model's whole reply. No token is generated. */
export interface AnswerScores extends InferenceResult {
  /**
   * In the order of the answers: the natural logarithm of the probability that the model replies with exactly this text and
   * then ends (several end of generation tokens add up), at temperature 1 and without a sampler. Always finite; empty when
   * aborted.
   */
  readonly scores: readonly number[];
  readonly finishReason: 'end' | 'aborted';
}

export interface WarmUpOptions extends InferenceSchedule {
  /**
   * Whether its state may be kept on disk, where sequences of all agents and of later servers start from it: only for a
   * prompt of a graph's own text, without words of a user. Default false.
   */
  readonly keep?: boolean;
}

/**
 * Whether the state of a prefilled prompt is in the prompt cache on disk.
 *
 * | value        | the state                                                                |
 * | ------------ | ------------------------------------------------------------------------ |
 * | `saved`      | was written                                                              |
 * | `present`    | was there before                                                         |
 * | `few_tokens` | is not kept: so few tokens are evaluated faster than a file is read      |
 * | `too_large`  | was not computed: the prompt does not fit in the context                 |
 * | `not_asked`  | is not kept: there was no `keep`, or the prompt has more than its head   |
 * | `no_cache`   | is not kept: there is no prompt cache                                    |
 * | `failed`     | could not be written: the disk is full, or `--cache-limit` has no room   |
 * | `stopped`    | is not complete: the prefill was aborted                                 |
 */
export type KeptState =
  'saved' | 'present' | 'few_tokens' | 'too_large' | 'not_asked' | 'no_cache' | 'failed' | 'stopped';

export interface WarmUpResult {
  /** Tokens of the part of the prompt that does not depend on the message. */
  readonly tokens: number;
  readonly kept: KeptState;
}

export interface SequenceOptions {
  /** A name for diagnostics and scripted engines: that of the node. Default "". */
  readonly label?: string;
}

/** A sequence: the tokens of one inference node of one agent in a KV cache. One inference runs in it at a time. */
export interface Sequence extends AsyncDisposable {
  readonly label: string;
  /**
   * Generates a completion. Only the part after the common prefix with the previous prompt is evaluated.
   * @throws Fault PROMPT_TOO_LARGE when the prompt and one token do not fit in the context, INFERENCE_FAILED when the
   * engine fails or the chat template rejects the prompt.
   */
  generate(prompt: Prompt, options: GenerateOptions): Promise<Completion>;
  /**
   * Scores answers: how probable each of them is as the whole reply to a prompt. The prompt is evaluated once, from the
   * common prefix with the previous prompt on. Reasoning that the chat template opens is closed before the answers.
   * @throws Fault PROMPT_TOO_LARGE when the prompt and the longest answer do not fit in the context, INFERENCE_FAILED as
   * `generate` does.
   */
  score(prompt: Prompt, answers: readonly string[], options: ScoreOptions): Promise<AnswerScores>;
  /** Prefills what does not depend on the last message: the stable prefix (system message, tools). */
  prefill(prompt: Prompt, signal: AbortSignal, options?: WarmUpOptions): Promise<WarmUpResult>;
}

/** A loaded model: weights in memory, and a context for its sequences. */
export interface Model extends AsyncDisposable {
  /** Context size of one sequence, in tokens. */
  readonly contextSize: number;
  /** The tool-call dialect that the model's chat template proves. */
  readonly toolDialect: ToolDialect;
  /** The marks of reasoning and answer in the model's text, read off its chat template. */
  readonly replyMarks: ReplyMarks;
  /** Whether its KV cache can be cut back to any token, so that `speculate` has an effect. */
  readonly canSpeculate: boolean;
  /** What cannot be done with it. Absent: nothing. */
  readonly limits?: ModelLimits;
  /** Warnings for the user: a chat template that does not work, a context size that was reduced, ... */
  readonly notes: readonly string[];
  /** Tokens that the chat template adds to a prompt, and to each message, in addition to the text (measured at load). */
  readonly overhead: { readonly prompt: number; readonly message: number };
  /**
   * The number of tokens of each text, tokenized as plain text (no control tokens). Of a text that does not fit in the
   * context it is any number above `contextSize`: counting may end there.
   */
  count(texts: readonly string[]): Promise<readonly number[]>;
  /** The number of tokens that tools add to a prompt of this model; any number above `contextSize` when they do not fit. */
  countTools(tools: ToolBlock): Promise<number>;
  /** The prompt as the model sees it, control tokens by name. @throws Fault INFERENCE_FAILED when it is rejected. */
  render(prompt: Prompt): Promise<string>;
  /** @throws Fault INFERENCE_FAILED for an embedding model. */
  openSequence(options?: SequenceOptions): Sequence;
  /** Present for an embedding model, which only counts and embeds; absent: it is a chat model. */
  readonly embedding?: EmbeddingFacts | undefined;
  /**
   * Computes the embeddings of texts; present as `embedding` is.
   * @throws Fault PROMPT_TOO_LARGE when a text does not fit, INFERENCE_FAILED when the engine fails; the reason of the signal.
   */
  readonly embed?: ((texts: readonly string[], options: EmbedOptions) => Promise<Embeddings>) | undefined;
  stats(): ModelStats;
  /** Gives back the slots that it has got on demand; absent: it gets none. */
  readonly shrink?: (() => Promise<void>) | undefined;
  /** Present when the model runs in a process of its own that is started again after a crash. */
  readonly supervision?: ModelSupervision | undefined;
  /** Facts about the model file and how it was loaded; absent for an engine without files. */
  readonly describe?: (() => Promise<ModelDetails>) | undefined;
}

/** Data type of the KV cache (quantization), by llama.cpp's names. */
export type KvCacheType = 'f16' | 'q8_0' | 'q4_0';

/** What a model may run on: `auto` = the best backend that there is, `off` = the CPU only, or a backend by name. */
export const gpuChoices = ['auto', 'off', 'vulkan', 'cuda', 'metal'] as const;

export type GpuChoice = (typeof gpuChoices)[number];

/** How many layers of a model are on the graphics card; `auto`: as many as fit. */
export type GpuLayers = number | 'auto';

export interface LoadOptions {
  /** Tokens; 0 = 8192 or the context size that the model was trained with, whichever is smaller. */
  readonly contextSize: number;
  /** Default: chat. */
  readonly purpose?: ModelPurpose | undefined;
  /** KV caches in memory (llama-server: --parallel); 0 = the default of the engine. */
  readonly slots: number;
  /** Lets the model have more slots while agents wait for them; absent: their number is fixed. */
  readonly resizing?: SlotResizing | undefined;
  /** Number of threads, for decoding and for prefill; 0 = each is chosen and tuned by the engine. */
  readonly threads: number;
  readonly gpu: GpuChoice;
  /** Layers on the graphics card; default `auto`: as many as fit. */
  readonly gpuLayers?: GpuLayers | undefined;
  /** Default f16; the others need less memory and are experimental. */
  readonly kvCacheType?: KvCacheType;
  /** LoRA adapters of the model, which change its weights; default: none. */
  readonly loras?: readonly LoraFile[] | undefined;
  /** What it may take; default: no limit. The engine has fewer slots and a shorter context where it must. */
  readonly within?: MemoryUse | undefined;
  /** Loads a file in spite of earlier crashes, which make a supervised engine refuse it. */
  readonly afterCrashes?: boolean;
  /** More arguments of the llama-server that runs it. */
  readonly serverArgs?: readonly string[] | undefined;
  /** Where other machines serve it; absent: it is a file. */
  readonly remote?: RemoteModel | undefined;
  readonly signal?: AbortSignal;
  /** Called with the loaded fraction, 0 to 1. */
  readonly onProgress?: (fraction: number) => void;
}

/** An inference engine: loads and runs models. It knows nothing of graphs or dialogs: only plain data and callbacks. */
export interface Engine extends AsyncDisposable {
  readonly name: string;
  /** Whether models are files on disk; an engine without files is given "" as the file. */
  readonly needsFiles: boolean;
  /** Loads a model. The caller disposes it. @throws Fault MODEL_LOAD_FAILED with the reason. */
  load(file: string, options: LoadOptions): Promise<Model>;
  /**
   * How a model would be loaded with these options, and what it would take, more than `within` only if the smallest context
   * does not fit; nothing is allocated. Absent: the engine takes no memory that counts. @throws Fault MODEL_LOAD_FAILED
   */
  readonly estimate?: (file: string, options: LoadOptions) => Promise<LoadPlan>;
  /** Reads what memory and cards there are now. Absent: the engine does not know. @throws Fault when that cannot be read. */
  readonly readHardware?: (gpu: GpuChoice) => Promise<Hardware>;
}

/** The error of a prompt without room for its answer. @param answer tokens of the longest; undefined: any length. */
export const promptTooLargeFault = (prompt: number, contextSize: number, answer?: number): Fault =>
  new Fault(
    'PROMPT_TOO_LARGE',
    `the prompt has ${prompt} tokens and leaves no room for an answer${answer === undefined ? '' : ` of ${answer}`} ` +
      `in a context of ${contextSize}: shorten the system message, the tools or the message, or raise context_size`,
  );
