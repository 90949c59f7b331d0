import { closeCodes } from '../closeCodes.ts';

/** The labels of a metric: the values that one can have, or where they come from. Text of a client is never one. */
type Labels = Readonly<Record<string, string | readonly string[]>>;

/** What is to be known about a metric. */
export interface MetricDefinition {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels: Labels;
  /** Upper bounds of a histogram. */
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
const yesOrNo = ['true', 'false'] as const;
type CloseCode = `${(typeof closeCodes)[keyof typeof closeCodes]}`;
const closeCodeLabels = [...Object.values(closeCodes).map((code): CloseCode => `${code}`), 'other'] as const;

// A small model on a CPU answers within seconds, and a turn ends after two minutes unless told otherwise.
const waitBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const durationBuckets = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const loadBuckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const speedBuckets = [1, 2, 5, 10, 20, 30, 50, 75, 100, 200, 500, 1000];

/** Every metric of the server, by its name: the one truth for names, types, labels and help. */
export const metricDefinitions = {
  turngraph_prompt_tokens_total: counter('Tokens of prompts, reused ones included.', perModel),
  turngraph_reused_tokens_total: counter('Tokens of prompts that were in a cache already.', perModel),
  turngraph_evaluated_tokens_total: counter(
    'Tokens of prompts that were evaluated, where one was read whole.',
    perModel,
  ),
  turngraph_generated_tokens_total: counter('Tokens that models wrote.', perModel),
  turngraph_generations_total: counter('Generations that are over, by what stopped them.', {
    ...perModel,
    stopped: finishReasons,
  }),
  turngraph_time_to_first_token_seconds: histogram('From asking a model until its first token.', waitBuckets, perModel),
  turngraph_slot_wait_seconds: histogram('From asking a model until a slot was had.', waitBuckets, perModel),
  turngraph_generation_duration_seconds: histogram(
    'From asking a model until its text was complete.',
    durationBuckets,
    perModel,
  ),
  turngraph_decode_tokens_per_second: histogram(
    'Speed of the tokens after the first of a text.',
    speedBuckets,
    perModel,
  ),

  turngraph_slots: gauge('Sequences that can be in memory at once; 0 = no limit.', perModel),
  turngraph_slots_busy: gauge('Slots in which a model works now.', perModel),
  turngraph_slots_waiting: gauge('Generations that wait for a slot now.', perModel),
  turngraph_sequences: gauge('Sequences that are open: one for each node with a model, of each agent.', perModel),
  turngraph_states_saved_total: counter('States put aside to disk when their slot went to another.', perModel),
  turngraph_states_restored_total: counter('States brought back from disk.', perModel),
  turngraph_state_bytes: gauge('Size of the states on disk.', perModel),

  turngraph_model_loaded: gauge('1 = in memory, 0 = not, or no longer.', perModel),
  turngraph_model_pinned: gauge('1 = stays in memory until it is unloaded by name.', perModel),
  turngraph_model_uses: gauge('Agents that use the model, and loads that wait for it.', perModel),
  turngraph_model_info: gauge('Always 1; the label says what computes.', { ...perModel, backend: 'cpu, cuda, ...' }),
  turngraph_model_context_tokens: gauge('Tokens that one sequence can hold.', perModel),
  turngraph_model_gpu_layers: gauge('Layers on the graphics card.', perModel),
  turngraph_model_threads: gauge('Threads that evaluate tokens.', perModel),
  turngraph_model_load_duration_seconds: histogram('Time of loading a model into memory.', loadBuckets, perModel),
  turngraph_model_load_failures_total: counter('Loads that failed.', perModel),

  turngraph_turns_total: counter('Turns that are over.', { status: turnStatuses }),
  turngraph_turns_running: gauge('Turns under way.'),
  turngraph_turn_duration_seconds: histogram('From message to TurnComplete.', durationBuckets, {
    status: turnStatuses,
  }),
  turngraph_turn_time_to_first_token_seconds: histogram('From message to the first token of any node.', waitBuckets),
  turngraph_turn_warnings_total: counter('Warnings in TurnComplete.'),
  turngraph_tool_calls_total: counter('Calls found in what models wrote.', { known: yesOrNo, repaired: yesOrNo }),
  turngraph_tool_call_issues_total: counter('What was wrong with those calls.', { code: 'an issue code' }),
  turngraph_tool_insights_total: counter('Calls held back because something stood in their way.'),
  turngraph_errors_total: counter('Errors told to clients, by where they arose.', {
    at: ['request', 'turn', 'connection'],
    code: 'a number of the protocol',
    name: 'its name',
  }),

  turngraph_connections: gauge('Connections that are open.'),
  turngraph_connections_total: counter('Connections let in.', { subprotocol: 'the one they speak' }),
  turngraph_connections_closed_total: counter('Connections that ended, by close code.', { code: closeCodeLabels }),
  turngraph_handshakes_refused_total: counter('Handshakes refused, by HTTP status.', { status: 'what was answered' }),
  turngraph_sessions: gauge('Sessions that live.'),
  turngraph_agents: gauge('Agents that live.'),
  turngraph_agents_created_total: counter('Agents made.'),
  turngraph_agent_warnings_total: counter('Warnings in CreateAgentResponse.'),
  turngraph_unsent_bytes: gauge('Bytes that clients have not taken yet.'),
  turngraph_slow_readers: gauge('Connections whose turns wait until the client has read more.'),
  turngraph_slow_reader_pauses_total: counter('How often a connection began to wait for its client to read.'),

  turngraph_info: gauge('Always 1; the labels say what runs.', { version: 'of turngraph', node: 'of Node' }),
  turngraph_process_start_time_seconds: gauge('When the process began, in Unix time.'),
  turngraph_process_cpu_seconds_total: counter('Time on the CPU, all threads.', { mode: ['user', 'system'] }),
  turngraph_process_resident_memory_bytes: gauge('Resident memory of the process.'),
  turngraph_process_heap_used_bytes: gauge('JavaScript heap in use.'),
  turngraph_process_heap_size_bytes: gauge('JavaScript heap taken from the system.'),
  turngraph_process_external_memory_bytes: gauge('Memory outside of the heap that JavaScript objects hold.'),
  turngraph_process_event_loop_lag_seconds: gauge('How long the event loop let the scrape wait.'),
  turngraph_process_event_loop_seconds_total: counter('Time of the event loop.', { state: ['active', 'idle'] }),
  turngraph_process_resources: gauge('What keeps the process alive: sockets, timers, ...', { type: 'a kind of Node' }),
} as const satisfies Readonly<Record<`turngraph_${string}`, MetricDefinition>>;

/** The name of a metric. */
export type MetricName = keyof typeof metricDefinitions;

/** The names of the metrics of one type. */
export type NameOf<Type extends MetricDefinition['type']> = {
  [K in MetricName]: (typeof metricDefinitions)[K]['type'] extends Type ? K : never;
}[MetricName];

/** The labels that a metric must be given. */
export type LabelsOf<K extends MetricName> = ValuesOf<(typeof metricDefinitions)[K]['labels']>;

type ValuesOf<L extends Labels> = {
  readonly [Name in keyof L]: L[Name] extends readonly (infer Value extends string)[] ? Value : string;
};
