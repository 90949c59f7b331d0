import type { MemoryUse } from './modelMemory.ts';

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
    /** Why ChatML is used instead of the file's own chat template; undefined: the file's own is used. */
    readonly fallbackReason: string | undefined;
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
    /** Each slot. */
    readonly slot: MemoryUse;
    /** Free memory just before loading. */
    readonly free: MemoryUse;
  };
  /** Tokens per second with each benchmarked thread count; empty when no benchmark was made. */
  readonly threadBenchmarks: readonly { readonly threads: number; readonly tokensPerSecond: number }[];
}
