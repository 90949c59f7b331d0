import type { Counterparts, OtherNames } from '../compile/otherNames.ts';

const sampling: Counterparts = Object.fromEntries(
  [
    'temperature',
    'top_p',
    'top_k',
    'min_p',
    'repeat_penalty',
    'presence_penalty',
    'frequency_penalty',
    'max_tokens',
    'seed',
  ].map((name) => [name, { how: `is a member of "sampling" here: write "sampling": {"${name}": ...}` }]),
);

const noSpeech = { how: 'has no counterpart: the server has no speech, and your program speaks the text' };
const noVectors = 'has no counterpart: a Route does not compare embeddings';
const inline = { how: 'is an item of a list here: write "inline_strings": ["..."]' };
const placement: Counterparts = {
  0: { now: 'in_place_of_user' },
  1: { now: 'before_user_as_user' },
  2: { now: 'before_user_as_system' },
  3: { now: 'after_user_as_user' },
  4: { now: 'after_user_as_system' },
};

/** What the graphs of Tryll (up to its version 0.3) call what is in a graph here; docs/from-tryll.md has the same tables. */
export const tryllNames: OtherNames = {
  engine: 'Tryll',
  graph: {
    routes: { how: 'are here in each node: write "exits": {"EXIT": "NODE"}' },
    knowledge_presentation: {
      how: 'is "template" and "placement" of a Generate node here',
    },
    enable_diagnostics: { how: 'is no part of a graph here: the client sets it when it creates the agent' },
    max_steps_per_turn: { how: 'is no part of a graph here: the client sets it when it creates the agent' },
  },
  node: {
    name: { how: 'is the key of the node in "nodes" here' },
    node_type: { now: 'type' },
    params_type: { now: 'type' },
    tools: { how: 'is a parameter here: write "params": {"tools": [...]}' },
  },
  lists: {
    nodes: { how: 'is an object here: write each node under its name' },
    params: { how: 'is an object here: write "params": {"KEY": VALUE}, numbers and booleans without quotes' },
  },
  types: {
    Generate: { now: 'Generate' },
    HumanMessageGuardrail: { now: 'Guardrail' },
    CannedResponse: { now: 'CannedResponse' },
    ToolCall: { now: 'ToolCall' },
    Retrieve: { now: 'Retrieve' },
    Instruction: {
      how: 'has no counterpart: write the text as "system_prompt" or "template" of the Generate node, which are live',
    },
    ClassifyIntent: { now: 'Route', how: 'is "Route" here, with "match": "patterns", or with "match": "model"' },
    IntentToInstruction: {
      how: 'has no counterpart: lead each exit of the Route node to a Generate node with that text as its "template"',
    },
    ClassifyIntentLLM: { now: 'Route', how: 'is "Route" here, with "match": "model"' },
    GenerateAndSpeak: {
      now: 'Generate',
      how: 'is "Generate" here: the server has no speech, and your program speaks the text',
    },
    Speak: {
      how: 'has no counterpart: the server has no speech; leave the node out, and let your program speak the text',
    },
  },
  params: {
    Generate: {
      ...sampling,
      tts_model_name: noSpeech,
      speaker_id: noSpeech,
      speed: noSpeech,
      min_sentence_chars: noSpeech,
    },
    ToolCall: { ...sampling },
    CannedResponse: { response_N: inline },
    Guardrail: { pattern_N: inline },
    Retrieve: {
      embedded_string_storage: { now: 'string_storage' },
      threshold: {
        how: 'is a distance, and "min_similarity" here is 1 minus it: write "match": "vectors" and "min_similarity": 0.4 for a threshold of 0.6',
      },
    },
    Route: {
      intents_ids: { how: 'is "name" of each label here: write "labels": [{"name": "..."}]' },
      intents_prompt: {
        how: 'is "when" of each label here: write "labels": [{"name": "...", "when": "..."}]',
      },
      system_prompt: { how: 'has no counterpart: say in "when" of each label what it is for' },
      history_turns: { how: 'has no counterpart: the model sees as much of the dialog as fits' },
      margin: { how: 'has no counterpart: only "threshold" decides' },
      notify_client: { how: 'has no counterpart: the client gets an event with the label' },
      not_found_intent: {
        how: 'is a label like any other here: lead its exit where "not_matched" leads',
      },
      embedded_string_storage: {
        how: `${noVectors}; write them as "patterns" or "examples" of each label`,
      },
      embedding_model: { how: noVectors },
      metadata_field: { how: 'has no counterpart: each label has its own "patterns" and "examples"' },
      filter: { how: noVectors },
      diagnostic_topk: { how: noVectors },
    },
  },
  exits: {
    Generate: { default: { now: 'default' } },
    CannedResponse: { default: { now: 'default' } },
    Guardrail: { triggered: { now: 'triggered' }, not_triggered: { now: 'not_triggered' } },
    ToolCall: { tool_called: { now: 'tool_called' }, no_tool_called: { now: 'no_tool_called' } },
    Retrieve: { found: { now: 'found' }, not_found: { now: 'not_found' } },
    Route: {
      found: { how: 'is one exit for each label here: write "exits": {"LABEL": "NODE"}' },
      not_found: { now: 'not_matched' },
    },
  },
  targets: { END: { now: '', how: 'is "" here, or an exit that is left out: both end the turn' } },
  values: {
    placement: {
      ...placement,
      InPlaceOfUser: { now: 'in_place_of_user' },
      BeforeUserAsUser: { now: 'before_user_as_user' },
      BeforeUserAsSystem: { now: 'before_user_as_system' },
      AfterUserAsUser: { now: 'after_user_as_user' },
      AfterUserAsSystem: { now: 'after_user_as_system' },
    },
    selection_strategy: {
      0: { now: 'random' },
      1: { now: 'first' },
      2: { now: 'in_turn' },
      Random: { now: 'random' },
      First: { now: 'first' },
      RoundRobin: { now: 'in_turn' },
      round_robin: { now: 'in_turn' },
    },
  },
};
