/** Bytes in the memory of the machine and of its graphics card. */
export interface MemoryUse {
  readonly ram: number;
  readonly vram: number;
}

/** A string that calls are written with, and what it is to a vocabulary: a token that steers, a word, or mere letters. */
export interface ToolToken {
  readonly text: string;
  readonly kind: 'control' | 'word' | 'letters';
}

/** What a model file is, and how the engine has taken it: for a person who chooses a model. */
export interface ModelDetails {
  readonly architecture: string;
  readonly layers: number;
  /** Numbers that were trained. */
  readonly parameters: number;
  /** How they are stored, by llama.cpp's names: F16, Q4_K_M. */
  readonly quantisation: string;
  /** Tokens. */
  readonly trainedContext: number;
  readonly template: {
    /** Why the file's own chat template is not used, but ChatML; undefined: it is used. */
    readonly fallbackReason: string | undefined;
    /** Where it takes system messages as such. */
    readonly system: 'anywhere' | 'first' | 'nowhere';
    /** Whether it has a place for tools. */
    readonly supportsTools: boolean;
  };
  /** Where the detected tool-call format was seen. */
  readonly detectedIn: 'template' | 'vocabulary' | undefined;
  readonly tokens: {
    /** The token that begins a text, and whether every prompt is given it. */
    readonly bos: string | undefined;
    readonly addsBos: boolean;
    /** The tokens that end an answer. */
    readonly eog: readonly string[];
    /** By tool-call format. */
    readonly toolTokens: Readonly<Record<string, readonly ToolToken[]>>;
  };
  readonly memory: {
    readonly weights: MemoryUse;
    /** All slots together, with what is computed beside them. */
    readonly slots: MemoryUse;
    /** Just before it was loaded. */
    readonly free: MemoryUse;
  };
  /** Tokens a second with each number of threads that was tried; none where the number was not chosen by trial. */
  readonly threadBenchmarks: readonly { readonly threads: number; readonly tokensPerSecond: number }[];
}
