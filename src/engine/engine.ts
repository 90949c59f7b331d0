import type { Prompt, ToolBlock } from '../dialog.ts';
import type { CallGrammar } from '../tools/grammar/grammar.ts';
import type { ModelDetails } from './modelDetails.ts';

/** How a token is drawn. Names and meanings are llama.cpp's. */
export interface SamplingParams {
  /** 0 = always the likeliest token. */
  readonly temperature: number;
  readonly top_p: number;
  /** 0 = no limit. */
  readonly top_k: number;
  readonly min_p: number;
  /** 1 = none. */
  readonly repeat_penalty: number;
  readonly presence_penalty: number;
  readonly frequency_penalty: number;
  /** Tokens that one generation may write. */
  readonly max_tokens: number;
  /** 0 = random; the same seed gives the same text again, unless a client that does not keep up made it pause. */
  readonly seed: number;
  /** Strings that end the text; none of them is part of it. */
  readonly stop: readonly string[];
}

/** Why a generation ended: by the model, by max_tokens or a full context, by a stop string, by its signal. */
export type FinishReason = 'end' | 'length' | 'stop' | 'aborted';

/** What a generation gave. */
export interface Completion {
  readonly text: string;
  readonly stopped: FinishReason;
  /** `prompt` counts the whole prompt, `reused` the part of it that was in the cache already. */
  readonly tokens: { readonly prompt: number; readonly reused: number; readonly generated: number };
  /** Milliseconds from the call: until a cache was had, until the first token (0 = none came), until the end. */
  readonly timings: { readonly queuedMs: number; readonly firstTokenMs: number; readonly totalMs: number };
}

export interface GenerateOptions {
  readonly sampling: SamplingParams;
  /** Ends the generation within one token or one chunk of prompt; the text so far is the completion's. */
  readonly signal: AbortSignal;
  /** Called with each piece of text, cut at code point boundaries, never with a part of a stop string. */
  readonly onText?: (piece: string) => void;
  /** Asked between tokens: undefined, or what to wait for; one more token may be told before it waits. */
  readonly backpressure?: () => Promise<void> | undefined;
  /** Whether control tokens that the model writes stand in the text as their names (the end token never does). */
  readonly controlTokens?: boolean;
  /**
   * What binds the text: a bound piece is as its rule says unless the generation ends with `length` or `aborted`, and no
   * stop string counts in it. An engine without a model may leave it out.
   */
  readonly grammar?: CallGrammar;
}

/** One KV cache: it belongs to one inference node of one agent, and one generation runs in it at a time. */
export interface Sequence extends AsyncDisposable {
  /**
   * Completes a prompt. Only what differs from the prompt before is evaluated.
   * @throws Fault PROMPT_TOO_LARGE when prompt and one token do not fit in the context, INFERENCE_FAILED when the engine fails.
   */
  generate(prompt: Prompt, options: GenerateOptions): Promise<Completion>;
  /** Evaluates a prompt's unchanging head (system message, tools) ahead of time. */
  prefill(prompt: Prompt, signal: AbortSignal): Promise<void>;
}

/** What a model in memory runs on and how its slots fare. Counts go from its loading on. */
export interface ModelStats {
  /** What computes: `cpu`, `cuda`, `vulkan`, `metal`, or `mock`. */
  readonly backend: string;
  /** Layers on the graphics card. */
  readonly gpuLayers: number;
  /** Threads that evaluate tokens now; 0 = none of its own. */
  readonly threads: number;
  /** Sequences that can be in memory at once, and those of them that work now; 0 = no limit. */
  readonly slots: number;
  readonly slotsBusy: number;
  /** Generations that wait for a slot. */
  readonly waiting: number;
  /** Sequences that are open. */
  readonly sequences: number;
  /** States that were put aside to disk when their slot went to another, and brought back. */
  readonly statesSaved: number;
  readonly statesRestored: number;
  /** Bytes of state on disk. */
  readonly stateBytes: number;
}

/** Weights in memory. */
export interface Model extends AsyncDisposable {
  /** Tokens that one sequence can hold. */
  readonly contextSize: number;
  /** The tool-call format that the model's own chat template and vocabulary speak, if any. */
  readonly detectedFormat: string | undefined;
  /** What a person should know about this model: a chat template that does not work, a context cut to size, ... */
  readonly notes: readonly string[];
  /** Tokens that the chat template adds to a prompt, and to each message of it, beside the texts (measured at load). */
  readonly overhead: { readonly prompt: number; readonly message: number };
  /** The number of tokens of each text, read as plain text. */
  count(texts: readonly string[]): Promise<readonly number[]>;
  /** The number of tokens that tools add to a prompt, where and as this model has them. */
  countTools(tools: ToolBlock): Promise<number>;
  /**
   * A prompt as the model sees it, its control tokens as their names.
   * @throws Fault INFERENCE_FAILED when the model's chat template refuses it.
   */
  render(prompt: Prompt): Promise<string>;
  openSequence(): Sequence;
  /** How it fares at this moment. */
  stats(): ModelStats;
  /** What the file is and how it was taken; absent where there is no file. */
  readonly describe?: (() => Promise<ModelDetails>) | undefined;
}

/** How exactly a context keeps what it has read: llama.cpp's names. */
export type KvCacheType = 'f16' | 'q8_0' | 'q4_0';

export interface LoadOptions {
  /** Tokens; 0 = 8192 or what the model was trained with, the smaller. */
  readonly contextSize: number;
  /** Sequences that can be in memory at once; 0 = chosen by the engine. */
  readonly slots: number;
  /** 0 = chosen by the engine. */
  readonly threads: number;
  readonly gpu: 'auto' | 'off';
  /** Default f16; the others take less memory, and are experimental. */
  readonly kvCacheType?: KvCacheType;
  readonly signal?: AbortSignal;
  /** Called with the fraction loaded, 0 to 1. */
  readonly onProgress?: (fraction: number) => void;
}

/** What runs models. It knows nothing of graphs or dialogs; all it takes and gives is plain data and callbacks. */
export interface Engine extends AsyncDisposable {
  readonly name: string;
  /** Whether models are files on disk; an engine without files takes "" for one. */
  readonly needsFiles: boolean;
  /** @throws Fault MODEL_LOAD_FAILED with the reason. */
  load(file: string, options: LoadOptions): Promise<Model>;
}
