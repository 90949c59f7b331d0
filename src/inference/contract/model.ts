import { noDialect } from '../../chat/dialect/layout.ts';
import { defaultReplyMarks } from '../../chat/replyMarks.ts';
import { Fault } from '../../protocol/fault.ts';
import type { Subscribe } from '../../base/events.ts';
import type { Priority } from './pace.ts';
import type { MemoryUse } from './memory.ts';

export const modelPurposes = ['chat', 'embedding'] as const;

export type ModelPurpose = (typeof modelPurposes)[number];

/** A LoRA adapter: changes of the weights of a model, in a GGUF file of their own. */
export interface LoraFile {
  /** Path of the GGUF file. */
  readonly file: string;
  /** What the changes are multiplied by; 0 = none. */
  readonly scale: number;
}

/** Matches the name of a split GGUF file (llama-gguf-split): the number of this file, and the number of files. */
export const splitSuffixPattern = /-(\d{5})-of-(\d{5})(?=\.gguf$)/i;

/** The file names of a split model, given the first of them; llama.cpp loads the others from the same folder. */
export function splitFileNames(name: string): readonly string[] {
  const [suffix, , count] = splitSuffixPattern.exec(name) ?? [];
  if (suffix === undefined || count === undefined) return [name];
  return Array.from({ length: Number(count) }, (_, index) =>
    name.replace(suffix, `-${String(index + 1).padStart(5, '0')}-of-${count}`),
  );
}

/** What is wrong where a part of several is missing. @param index from 0. */
export const missingPart = (index: number, count: number): string =>
  `part ${index + 1} of ${count} is missing; put it into the folder of the others`;

/** A model that inference servers on other machines serve, as a catalogue entry describes it. */
export interface RemoteModel {
  /** The API of the servers: that of llama-server, or the completion API of OpenAI-style servers (vLLM, SGLang). */
  readonly api: 'llama-server' | 'openai';
  /** Addresses of servers that all serve the same model; at least one. */
  readonly baseUrls: readonly string[];
  /** Name of the model on the servers; undefined: they serve one. */
  readonly model: string | undefined;
  /** Name of the environment variable that has the API key; undefined: none is sent. */
  readonly apiKeyEnv: string | undefined;
  /** Path of the chat template (Jinja); undefined: the one that the server has. */
  readonly templateFile: string | undefined;
}

/** What cannot be done with a model, and why: a sentence. Absent: it can be done. */
export interface ModelLimits {
  /** Decoding by a grammar. */
  readonly grammars?: string;
  /** Sampling parameters that have no effect. */
  readonly samplers?: string;
  /** Scoring answers. */
  readonly scores?: string;
  /** Telling how probable a call is. */
  readonly confidence?: string;
}

/** Starts the engine process of a model again after a crash; gives up after three without a finished turn between. */
export interface ModelSupervision {
  /** Why the model was given up (MODEL_LOAD_FAILED); undefined while it can be used. */
  readonly fault: Fault | undefined;
  /** Loads the model again if it was given up. @throws Fault MODEL_LOAD_FAILED */
  restart(options: { readonly signal?: AbortSignal; readonly onProgress?: (fraction: number) => void }): Promise<void>;
  /** A turn with this model has finished: earlier crashes do not count any more. */
  turnFinished(): void;
  /** Calls a listener at intervals while it is loaded again for longer than usual. */
  readonly onSlowLoad: Subscribe;
}

/** A string around tool calls: one control token of the vocabulary, one other token (word), or several (letters). */
export interface ToolToken {
  readonly text: string;
  readonly kind: 'control' | 'word' | 'letters';
}

/** Facts about a model file and how the engine has loaded it, for a person who chooses a model. */
export interface ModelDetails {
  readonly architecture: string;
  readonly layers: number;
  /** Number of weights. */
  readonly parameters: number;
  /** llama.cpp's name: F16, Q4_K_M. */
  readonly quantisation: string;
  /** Context size that the model was trained with, in tokens. */
  readonly trainedContext: number;
  readonly template: {
    /** Why another layout is used instead of the file's own chat template; undefined: the file's own is used. */
    readonly fallback: { readonly reason: string; readonly layout: string } | undefined;
    /** Where it supports system messages. */
    readonly system: 'anywhere' | 'first' | 'nowhere';
    /** Whether it renders tools. */
    readonly supportsTools: boolean;
  };
  readonly tokens: {
    /** The BOS token, and whether it is added to every prompt. */
    readonly bos: string | undefined;
    readonly addsBos: boolean;
    /** The end of generation tokens. */
    readonly eog: readonly string[];
    /** Tokens around tool calls, by tool-call format. */
    readonly toolTokens: Readonly<Record<string, readonly ToolToken[]>>;
  };
  readonly memory: {
    readonly weights: MemoryUse;
    /** The context: the KV caches of all slots, and its compute buffers. */
    readonly slots: MemoryUse;
    readonly slot: MemoryUse;
    /** Free memory just before loading. */
    readonly free: MemoryUse;
  };
  /** The names of the graphics cards that have layers of it, or may have. */
  readonly cards: readonly string[];
  /** Tokens per second with each benchmarked thread count; empty when no benchmark was made. */
  readonly threadBenchmarks: readonly { readonly threads: number; readonly tokensPerSecond: number }[];
}

export interface EmbeddingFacts {
  /** The number of values of a vector. */
  readonly dimensions: number;
  /**
   * What its vectors depend on apart from the texts: the content of its file, its context size, and the release of the
   * engine. Vectors of equal fingerprints can be compared. Absent: they are not kept on disk.
   */
  readonly fingerprint?: string | undefined;
}

/** What an embedding model was trained to read before its texts; "" = nothing. */
export interface EmbeddingPrefixes {
  /** Before what is searched for. */
  readonly query: string;
  /** Before what is found. */
  readonly document: string;
}

export interface EmbedOptions {
  /** Default: NORMAL. Texts of a higher priority come first; the text under way is finished. */
  readonly priority?: Priority;
  /** Ends the wait; the text under way is computed to its end. */
  readonly signal: AbortSignal;
  /** Whether a text with more tokens than fit in the context is cut to its beginning; default: it is an error. */
  readonly truncate?: boolean;
}

/** The embeddings of some texts, in their order. */
export interface Embeddings {
  /** Of length 1, so that a dot product is the cosine similarity; all 0 for a text without tokens. */
  readonly vectors: readonly Float32Array[];
  /** The tokens of each text that were evaluated, with those that the model puts around it. */
  readonly tokens: readonly number[];
  /** The indexes of the texts that were cut. */
  readonly truncated: readonly number[];
}

/** Scales a vector to length 1, in place. One of zeros stays as it is. */
export function normalizeVector(vector: Float32Array): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  if (squares === 0 || !Number.isFinite(squares)) return vector.fill(0);
  const factor = 1 / Math.sqrt(squares);
  for (let index = 0; index < vector.length; index++) vector[index] = (vector[index] ?? 0) * factor;
  return vector;
}

/** PROMPT_TOO_LARGE for a text that an embedding model cannot read as a whole. */
export const textTooLong = (index: number, size: string, maxTokens: number): Fault =>
  new Fault(
    'PROMPT_TOO_LARGE',
    `text ${index + 1} has ${size}, and the embedding model reads ${maxTokens} at most: divide it, or raise context_size of the model`,
  );

const generatesNothing = (): Fault =>
  new Fault('INFERENCE_FAILED', 'an embedding model generates no text and reads no dialog: use a chat model');

/** What every embedding model has in place of what a chat model does. */
export class DialoglessModel {
  readonly toolDialect = noDialect('an embedding model has no chat template');
  readonly replyMarks = defaultReplyMarks;
  readonly canSpeculate = false;
  readonly overhead = { prompt: 0, message: 0 };

  countTools(): Promise<never> {
    return Promise.reject(generatesNothing());
  }

  render(): Promise<never> {
    return Promise.reject(generatesNothing());
  }

  openSequence(): never {
    throw generatesNothing();
  }
}
