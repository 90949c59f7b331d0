/** A tokeniser as GGUF files hold it. */
export interface TinyVocab {
  /** `gpt2`: byte-level BPE with merges; `llama`: SentencePiece with scores. */
  readonly model: 'gpt2' | 'llama';
  /** How text is split before merging, by llama.cpp's names; only for `gpt2`. */
  readonly pre?: string;
  readonly tokens: readonly string[];
  /** A number of `tokenType` for each token. */
  readonly types: readonly number[];
  readonly merges?: readonly string[];
  readonly scores?: readonly number[];
  /** Token ids. */
  readonly bos?: number;
  readonly eos?: number;
  readonly unknown?: number;
  /** Whether every prompt begins with the `bos` token; false unless said otherwise. */
  readonly addBos?: boolean;
  readonly addSpacePrefix?: boolean;
}

/** What a tiny model is like. */
export interface TinyModel {
  readonly vocab: TinyVocab;
  readonly architecture?: 'llama';
  readonly name?: string;
  /** Numbers in an embedding; a multiple of twice the heads. */
  readonly width?: number;
  readonly layers?: number;
  readonly heads?: number;
  /** Heads that keys and values have; as many as `heads` unless said otherwise. */
  readonly kvHeads?: number;
  /** Numbers in the inner layer of a feed-forward network; twice the width unless said otherwise. */
  readonly hidden?: number;
  /** Tokens. */
  readonly contextLength?: number;
  readonly chatTemplate?: string;
  readonly weights?: 'F32' | 'F16' | 'Q8_0';
  /** Standard deviation of the weights. */
  readonly spread?: number;
  readonly seed?: number;
}

export const tokenType: {
  readonly normal: 1;
  readonly unknown: 2;
  readonly control: 3;
  readonly userDefined: 4;
  readonly unused: 5;
  readonly byte: 6;
};
export function tinyGguf(model: TinyModel): Buffer;
