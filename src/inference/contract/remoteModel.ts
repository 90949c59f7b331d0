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

/** How long an inference server may take, in milliseconds. */
export interface RemoteTimeouts {
  /** Until a connection is open. */
  readonly connectMs: number;
  /** From a request to the head of its response, and from there to the first event: the prefill of a long prompt is in it. */
  readonly firstByteMs: number;
  /** Between two events of a response. Comments are none. */
  readonly idleMs: number;
  /** From one failed attempt to the next; twice as long after each. */
  readonly retryMs: number;
  /** For which an endpoint that has failed several times is not asked. */
  readonly breakMs: number;
  /** Since the last answer, after which a server is asked what it serves before it is used: it may have been exchanged. */
  readonly recheckMs: number;
}

/** The time-outs of a server without others. */
export const defaultTimeouts: RemoteTimeouts = {
  connectMs: 5_000,
  firstByteMs: 120_000,
  idleMs: 60_000,
  retryMs: 250,
  breakMs: 10_000,
  // Less than a server takes to end, and another one to load a model.
  recheckMs: 1_000,
};
