import type { Token } from '../decoding/tokenizer.ts';
import { type SamplingParams, samplingColumn, type SamplingName } from '../contract/samplingParams.ts';
import type { ModelLimits } from '../contract/model.ts';
import type { HttpConnection } from './connection/httpConnection.ts';
import type { Vocabulary } from './vocabulary.ts';

/** What an inference server says of the model that it serves. */
export interface ServerProps {
  /** Tokens of one sequence; 0 = it does not say. */
  readonly contextSize: number;
  /** Requests that it computes at once. */
  readonly slots: number;
  readonly chatTemplate: string | undefined;
  readonly bos: string;
  readonly eos: string;
  readonly model: string;
  /** Version of the server. */
  readonly build: string;
  /** What else two servers of the same model have in common: equal texts. */
  readonly fingerprint: string;
  /** What the server cannot do. */
  readonly limits: ModelLimits;
  /** Warnings for the user. */
  readonly notes: readonly string[];
}

/** A completion that an inference server is asked for. */
export interface RemoteRequest {
  readonly prompt: readonly Token[];
  /** Index of the slot, for servers that have them. */
  readonly slot: number;
  /** 0 = the prompt is only prefilled. */
  readonly maxTokens: number;
  readonly sampling: RemoteSampling;
  /** What is added to the logits of tokens. */
  readonly biases?: ReadonlyMap<Token, number>;
  /** 0 = the server's. */
  readonly seed: number;
  /** Grammar of the text, in GBNF; undefined: it is unconstrained. */
  readonly gbnf?: string | undefined;
  /** For each token, the probabilities of this many of the likeliest ones are wanted, and its own; `of`: the token that is to be generated. */
  readonly probabilities?: { readonly of?: Token; readonly likeliest: number } | undefined;
}

/** Sampling parameters that a server applies. */
export type RemoteSampling = Pick<SamplingParams, SamplingName<'greedy'>>;

/** Takes the likeliest token. */
export const greedySampling: RemoteSampling = samplingColumn('greedy');

/** A part of a completion: a control token, or other tokens and their text; or none, where it only says what was reused. */
export interface RemoteCompletionPart {
  readonly text: string;
  /** Empty: they are not known, only their text. */
  readonly tokens: readonly Token[];
  /** Number of tokens; more than `tokens` where the server does not tell all. */
  readonly count: number;
  /** Tokens of the prompt that were in the KV cache already; undefined: this part does not say it. */
  readonly reused?: number | undefined;
  /** Of the token: natural logarithms of the probabilities of the likeliest tokens, and of its own. */
  readonly logprobs?: ReadonlyMap<number, number>;
}

/** Why a completion ended: end of generation token, or its maximum of tokens. */
export type RemoteCompletionEnd = 'eos' | 'limit';

/** Whether control strings in a text become control tokens. */
export interface TokenizeOptions {
  readonly special: boolean;
  readonly signal: AbortSignal;
}

/** The API of an inference server, as far as the engine uses it. All methods throw ServerFault. */
export interface InferenceServer {
  readonly connection: HttpConnection;
  /** Asks what it serves. */
  props(signal: AbortSignal): Promise<ServerProps>;
  /** @param props what it has said of its model. */
  vocabulary(props: ServerProps, signal: AbortSignal): Promise<Vocabulary>;
  tokenize(text: string, options: TokenizeOptions): Promise<readonly Token[]>;
  /** The text of tokens whose spellings the vocabulary does not know. */
  detokenize(tokens: readonly Token[], signal: AbortSignal): Promise<string>;
  /** Streams a completion. Ending the iteration before its end closes the connection, and the server stops. */
  complete(request: RemoteRequest, signal: AbortSignal): AsyncGenerator<RemoteCompletionPart, RemoteCompletionEnd>;
}
