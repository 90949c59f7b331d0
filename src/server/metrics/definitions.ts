import { closeCodes } from '../../protocol/closeCodes.ts';

/** All values of each label, or a description. No text of a client: the number of series must be bounded. */
type Labels = Readonly<Record<string, string | readonly string[]>>;

export interface MetricDefinition {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: Labels;
  /** Upper bounds of the buckets of a histogram. */
  readonly buckets?: readonly number[];
}

type Unlabelled = Readonly<Record<never, never>>;

const counter = <const L extends Labels = Unlabelled>(help: string, labels?: L) =>
  ({ type: 'counter', help, labels: labels ?? ({} as L) }) as const;

const gauge = <const L extends Labels = Unlabelled>(help: string, labels?: L) =>
  ({ type: 'gauge', help, labels: labels ?? ({} as L) }) as const;

const histogram = <const L extends Labels = Unlabelled>(help: string, buckets: readonly number[], labels?: L) =>
  ({ type: 'histogram', help, buckets, labels: labels ?? ({} as L) }) as const;

const perModel = { engine: 'the engine', model: 'a name in models.json' } as const;
const finishReasons = ['end', 'length', 'stop', 'aborted', 'failed'] as const;
const turnStatuses = ['SUCCESS', 'ERROR', 'CANCELLED'] as const;
const resumeRefusals = [
  'not_first',
  'shutting_down',
  'unknown_session',
  'wrong_token',
  'own_session',
  'not_sent_yet',
  'gap_lost',
] as const;
const memoryKinds = ['ram', 'vram'] as const;
const yesOrNo = ['true', 'false'] as const;
type CloseCode = `${(typeof closeCodes)[keyof typeof closeCodes]}`;
const closeCodeLabels = [...Object.values(closeCodes).map((code): CloseCode => `${code}`), 'other'] as const;

// A small model on a CPU answers within seconds, and the default timeout of a turn is two minutes.
const waitBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const durationBuckets = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const loadBuckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const speedBuckets = [1, 2, 5, 10, 20, 30, 50, 75, 100, 200, 500, 1000];

/** Every metric of the server by its name: the single source of truth for names, types, labels and help texts. */
export const metricDefinitions = {
  turngraph_prompt_tokens_total: counter('Prompt tokens, reused ones included.', perModel),
  turngraph_reused_tokens_total: counter('Prompt tokens reused from a KV cache (prefix reuse).', perModel),
  turngraph_evaluated_tokens_total: counter(
    'Prompt tokens evaluated (prefill), of prompts that were evaluated to their end.',
    perModel,
  ),
  turngraph_generated_tokens_total: counter('Generated tokens.', perModel),
  turngraph_generations_total: counter('Generations and scorings of answers that have ended, by what stopped them.', {
    ...perModel,
    stopped: finishReasons,
  }),
  turngraph_time_to_first_token_seconds: histogram(
    'From the request to a model to its first token.',
    waitBuckets,
    perModel,
  ),
  turngraph_slot_wait_seconds: histogram('From the request to a model until it has a slot.', waitBuckets, perModel),
  turngraph_generation_duration_seconds: histogram(
    'From the request to a model until its text is complete, or its answers are scored.',
    durationBuckets,
    perModel,
  ),
  turngraph_decode_tokens_per_second: histogram(
    'Decode speed: tokens after the first one of a text.',
    speedBuckets,
    perModel,
  ),

  turngraph_slots: gauge('Sequences that can be in memory at once; 0 = no limit.', perModel),
  turngraph_slots_busy: gauge('Slots in use now.', perModel),
  turngraph_slots_waiting: gauge('Generations that wait for a slot now.', perModel),
  turngraph_sequences: gauge('Open sequences: one for each node with a model, of each agent.', perModel),
  turngraph_checkpoint_bytes: gauge('Checkpoints in memory, of models whose KV cache cannot be cut back.', perModel),
  turngraph_states_saved_total: counter('KV states swapped out to disk when their slot was evicted.', perModel),
  turngraph_state_write_failures_total: counter('KV states that could not be written to disk.'),
  turngraph_states_restored_total: counter('KV states swapped in from disk.', perModel),
  turngraph_prompts_restored_total: counter('Prompts that started from a state of the prompt cache.', perModel),
  turngraph_state_bytes: gauge('Size of the KV states on disk.', perModel),

  turngraph_model_loaded: gauge('1 = in memory, 0 = not, or no longer.', perModel),
  turngraph_model_pinned: gauge('1 = stays in memory until it is unloaded by name.', perModel),
  turngraph_model_uses: gauge('Agents that use the model, and loads that wait for it.', perModel),
  turngraph_model_info: gauge('Always 1; the label is the backend that computes.', {
    ...perModel,
    backend: 'cpu, cuda, ...',
  }),
  turngraph_model_context_tokens: gauge('Tokens that one sequence can hold.', perModel),
  turngraph_model_gpu_layers: gauge('Layers on the graphics card.', perModel),
  turngraph_model_threads: gauge('Threads of batches that decode.', perModel),
  turngraph_model_prefill_threads: gauge('Threads of batches with 16 or more prompt tokens.', perModel),
  turngraph_model_memory_bytes: gauge('Memory of the weights, and of the context: all slots and compute buffers.', {
    ...perModel,
    part: ['weights', 'context'],
    memory: memoryKinds,
  }),
  turngraph_model_slot_bytes: gauge('Memory that each slot has of the context.', { ...perModel, memory: memoryKinds }),
  turngraph_memory_limit_bytes: gauge('The limit of memory, where there is one.', { memory: memoryKinds }),
  turngraph_memory_reserved_bytes: gauge('Memory that models have or are promised, where there is a limit.', {
    memory: memoryKinds,
  }),
  turngraph_model_load_duration_seconds: histogram('Time of loading a model into memory.', loadBuckets, perModel),
  turngraph_engine_crashes_total: counter('Engine processes that ended without being asked to, or hung.', {
    reason: ['crash', 'hang'],
  }),
  turngraph_model_load_failures_total: counter('Loads that failed, without those that clients gave up.', perModel),

  turngraph_turns_total: counter('Turns that have ended.', { status: turnStatuses }),
  turngraph_turns_running: gauge('Turns that are running.'),
  turngraph_turn_duration_seconds: histogram('From message to TurnComplete.', durationBuckets, {
    status: turnStatuses,
  }),
  turngraph_turn_time_to_first_token_seconds: histogram('From message to the first token of any node.', waitBuckets),
  turngraph_turn_warnings_total: counter('Warnings in TurnComplete.'),
  turngraph_tool_calls_total: counter('Tool calls detected in generated text.', { known: yesOrNo, repaired: yesOrNo }),
  turngraph_tool_call_issues_total: counter('Issues of those calls.', { code: 'an issue code' }),
  turngraph_tool_insights_total: counter('Calls held back: values missing or invalid, or unsure (insights).'),
  turngraph_errors_total: counter('Errors reported to clients, by where they occurred.', {
    at: ['request', 'turn', 'connection'],
    code: 'a number of the protocol',
    name: 'its name',
  }),

  turngraph_connections: gauge('Open connections.'),
  turngraph_connections_total: counter('Connections accepted.', { subprotocol: 'the WebSocket subprotocol' }),
  turngraph_connections_closed_total: counter('Connections that ended, by close code.', { code: closeCodeLabels }),
  turngraph_handshakes_refused_total: counter('Handshakes refused, by HTTP status.', { status: 'the HTTP status' }),
  turngraph_openai_requests_total: counter('Requests to the OpenAI-compatible API, by HTTP status.', {
    route: ['chat_completions', 'embeddings', 'models', 'model', 'other'],
    status: 'the HTTP status; aborted: the client left before the end of the response',
  }),
  turngraph_sessions: gauge('Open sessions, detached ones included.'),
  turngraph_detached_sessions: gauge('Sessions without a connection, which can be resumed.'),
  turngraph_sessions_resumed_total: counter('Sessions that another connection has resumed.'),
  turngraph_resumes_refused_total: counter('Requests to resume a session that were refused.', {
    reason: resumeRefusals,
  }),
  turngraph_replay_bytes: gauge('Bytes of sent frames that are kept for clients that resume.'),
  turngraph_agents: gauge('Agents that exist.'),
  turngraph_agents_created_total: counter('Agents created.'),
  turngraph_agent_warnings_total: counter('Warnings in CreateAgentResponse.'),
  turngraph_unsent_bytes: gauge('Bytes in send buffers that clients have not read yet.'),
  turngraph_queued_request_bytes: gauge('Bytes of requests that wait to be handled.'),
  turngraph_paused_connections: gauge('Connections that are not read, because too many bytes of requests wait.'),
  turngraph_slow_readers: gauge('Connections under backpressure: their turns wait until the client has read more.'),
  turngraph_slow_reader_pauses_total: counter('Times that backpressure began on a connection.'),

  turngraph_info: gauge('Always 1; the labels are the versions.', { version: 'of turngraph', node: 'of Node' }),
  turngraph_process_start_time_seconds: gauge('Start of the process, in Unix time.'),
  turngraph_process_cpu_seconds_total: counter('CPU time of all threads.', { mode: ['user', 'system'] }),
  turngraph_process_resident_memory_bytes: gauge('Resident memory of the process.'),
  turngraph_process_heap_used_bytes: gauge('JavaScript heap in use.'),
  turngraph_process_heap_size_bytes: gauge('JavaScript heap taken from the system.'),
  turngraph_process_external_memory_bytes: gauge('Memory outside of the heap that JavaScript objects hold.'),
  turngraph_process_event_loop_lag_seconds: gauge('Delay of this scrape by the event loop.'),
  turngraph_process_event_loop_seconds_total: counter('Time that the event loop was active or idle.', {
    state: ['active', 'idle'],
  }),
  turngraph_process_resources: gauge('What keeps the process alive: sockets, timers, ...', {
    type: 'a resource type of Node',
  }),
} as const satisfies Readonly<Record<`turngraph_${string}`, MetricDefinition>>;

export type MetricName = keyof typeof metricDefinitions;

export type NameOf<Type extends MetricDefinition['type']> = {
  [K in MetricName]: (typeof metricDefinitions)[K]['type'] extends Type ? K : never;
}[MetricName];

export type LabelsOf<K extends MetricName> = ValuesOf<(typeof metricDefinitions)[K]['labels']>;

type ValuesOf<L extends Labels> = {
  readonly [Name in keyof L]: L[Name] extends readonly (infer Value extends string)[] ? Value : string;
};
