/** Bytes in the memory of the machine and of its graphics card. */
export interface Bytes {
  readonly ram: number;
  readonly vram: number;
}

/** A string that calls are written with, and what it is to a vocabulary: a token that steers, a word, or mere letters. */
export interface CallMark {
  readonly spelling: string;
  readonly kind: 'control' | 'word' | 'letters';
}

/** What a model file is, and how the engine has taken it: for a person who chooses a model. */
export interface ModelDescription {
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
    readonly unused: string | undefined;
    /** Where it takes system messages as such. */
    readonly system: 'anywhere' | 'first' | 'nowhere';
    /** Whether it has a place for tools. */
    readonly knowsTools: boolean;
  };
  /** Where the detected tool-call format was seen. */
  readonly detectedIn: 'template' | 'vocabulary' | undefined;
  readonly tokens: {
    /** The token that begins a text, and whether every prompt is given it. */
    readonly begin: string | undefined;
    readonly isPutFirst: boolean;
    /** The tokens that end an answer. */
    readonly ends: readonly string[];
    /** By tool-call format. */
    readonly marks: Readonly<Record<string, readonly CallMark[]>>;
  };
  readonly memory: {
    readonly weights: Bytes;
    /** All seats together, with what is computed beside them. */
    readonly seats: Bytes;
    /** Just before it was loaded. */
    readonly free: Bytes;
  };
  /** Tokens a second with each number of threads that was tried; none where the number was not chosen by trial. */
  readonly threadTrials: readonly { readonly threads: number; readonly tokensPerSecond: number }[];
}
