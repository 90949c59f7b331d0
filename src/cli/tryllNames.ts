import { escapePointerToken, pointerTokens, valueAt } from '../base/jsonPointer.ts';
import { isObject } from '../base/jsonTypes.ts';
import { truncateMessage } from '../protocol/fault.ts';
import type { GraphFault } from '../graph/compile/document.ts';
import { checkGraph, type CheckContext, type GraphCheckResult } from '../server/checkGraph.ts';

/** What stands here for a name of Tryll's graphs: another name, or what to do instead, or both. */
interface Counterpart {
  /** The name here. */
  readonly now?: string;
  /** Continues the sentence that begins with the other name; default: that it is `now` here. */
  readonly how?: string;
}

/** Counterparts by the name there, in snake_case where it is no type. */
export type Counterparts = Readonly<Record<string, Counterpart>>;

interface TryllNames {
  readonly graph: Counterparts;
  readonly node: Counterparts;
  /** What is a list there and an object here, by its member. */
  readonly lists: Counterparts;
  /** Node types, in the order of their numbers there. */
  readonly types: Counterparts;
  /** Parameters, by the node type here. A number at the end of a name is `N` in the table. */
  readonly params: Readonly<Record<string, Counterparts>>;
  /** Exits, by the node type here; there each is the parameter NAME_exit, too. */
  readonly exits: Readonly<Record<string, Counterparts>>;
  readonly targets: Counterparts;
  /** Values of parameters, by the parameter: as they are written there, and their numbers. */
  readonly values: Readonly<Record<string, Counterparts>>;
}

const sampling: Counterparts = Object.fromEntries(
  'temperature top_p top_k min_p repeat_penalty presence_penalty frequency_penalty max_tokens seed'
    .split(' ')
    .map((name) => [name, { how: `is a member of "sampling" here: write "sampling": {"${name}": ...}` }]),
);

const noSpeech = { how: 'has no counterpart: the server has no speech, and your program speaks the text' };
const inline = { how: 'is an item of a list here: write "inline_strings": ["..."]' };

const same = (...names: readonly string[]): Counterparts =>
  Object.fromEntries(names.map((name) => [name, { now: name }]));

/** Values by their names there, in the order of their numbers, which stand for them, too. */
const numbered = (values: Readonly<Record<string, string>>): Counterparts =>
  Object.fromEntries(
    Object.entries(values).flatMap(([there, now], index) => [index, there].map((name) => [name, { now }])),
  );

/** What the graphs of Tryll (up to its version 0.3) call what is in a graph here; docs/migrate/from-tryll.md says the same. */
export const tryllNames: TryllNames = {
  graph: {
    routes: { how: 'are here in each node: write "exits": {"EXIT": "NODE"}' },
    knowledge_presentation: { how: 'is "template" and "placement" of a Generate node here' },
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
    ...same('Generate'),
    HumanMessageGuardrail: { now: 'Guardrail' },
    ...same('CannedResponse', 'ToolCall', 'Retrieve'),
    Instruction: {
      how: 'has no counterpart: write the text as "system_prompt" or "template" of the Generate node, which are live',
    },
    ClassifyIntent: { now: 'Route', how: 'is "Route" here, with "match": "vectors"' },
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
      intents_prompt: { how: 'is "when" of each label here: write "labels": [{"name": "...", "when": "..."}]' },
      system_prompt: { how: 'has no counterpart: say in "when" of each label what it is for' },
      history_turns: { how: 'has no counterpart: the model sees as much of the dialog as fits' },
      notify_client: { how: 'has no counterpart: the client gets an event with the label' },
      not_found_intent: { how: 'is a label like any other here: lead its exit where "not_matched" leads' },
      embedded_string_storage: { now: 'string_storage' },
      metadata_field: { now: 'label_field' },
      diagnostic_topk: { how: 'has no counterpart: the event "routed" names the nearest entry' },
    },
  },
  exits: {
    Generate: same('default'),
    CannedResponse: same('default'),
    Guardrail: same('triggered', 'not_triggered'),
    ToolCall: same('tool_called', 'no_tool_called'),
    Retrieve: same('found', 'not_found'),
    Route: {
      found: { how: 'is one exit for each label here: write "exits": {"LABEL": "NODE"}' },
      not_found: { now: 'not_matched' },
    },
  },
  targets: { END: { now: '', how: 'is "" here, or an exit that is left out: both end the turn' } },
  values: {
    placement: numbered({
      InPlaceOfUser: 'in_place_of_user',
      BeforeUserAsUser: 'before_user_as_user',
      BeforeUserAsSystem: 'before_user_as_system',
      AfterUserAsUser: 'after_user_as_user',
      AfterUserAsSystem: 'after_user_as_system',
    }),
    selection_strategy: {
      ...numbered({ Random: 'random', First: 'first', RoundRobin: 'in_turn' }),
      round_robin: { now: 'in_turn' },
    },
  },
};

/** Checks a graph as the server would, and says what stands here for the names of Tryll's graphs in it. */
export async function checkPortedGraph(document: unknown, context: CheckContext): Promise<GraphCheckResult> {
  const result = await checkGraph(document, context);
  const renamed = withTypesHere(document, result.faults);
  const faults = renamed ? joinFaults(result.faults, (await checkGraph(renamed, context)).faults) : result.faults;
  return { ...result, faults: faults.map((fault) => explain(fault, document)) };
}

// The rest of a node is only checked under a type that there is.
function withTypesHere(document: unknown, faults: readonly GraphFault[]): object | undefined {
  if (!isObject(document) || !isObject(document['nodes'])) return undefined;
  const unknown = new Set(faults.map(({ pointer }) => pointer));
  const types = Object.entries(document['nodes']).flatMap(([name, node]) => {
    const type = isObject(node) && typeof node['type'] === 'string' ? typeHere(node['type']) : undefined;
    return type !== undefined && unknown.has(`/nodes${escapePointerToken(name)}/type`)
      ? [[name, { ...(node as object), type }]]
      : [];
  });
  if (types.length === 0) return undefined;
  return { ...document, nodes: { ...document['nodes'], ...(Object.fromEntries(types) as object) } };
}

function joinFaults(first: readonly GraphFault[], second: readonly GraphFault[]): readonly GraphFault[] {
  const joined = [...second];
  const pointers = new Set(second.map(({ pointer }) => pointer));
  for (const fault of first.filter(({ pointer }) => !pointers.has(pointer))) {
    const node = fault.pointer.slice(0, fault.pointer.lastIndexOf('/') + 1);
    const index = joined.findIndex(({ pointer }) => pointer.startsWith(node));
    joined.splice(index < 0 ? joined.length : index, 0, fault);
  }
  return joined;
}

function explain(fault: GraphFault, document: unknown): GraphFault {
  const hint = hintFor(document, pointerTokens(fault.pointer), fault.code);
  return hint === '' ? fault : { ...fault, message: truncateMessage(withoutSuggestion(fault.message) + hint) };
}

const withoutSuggestion = (message: string): string => message.replace(/; did you mean "[^"]*"\?$/, '');

/** The name here of a node type, which may be written as the name of its class there. */
const typeHere = (name: string): string | undefined => own(tryllNames.types, plainType(name))?.now;

/** `; Tryll's NAME is "x" here`: what stands here for a name or value of Tryll's at a place of a graph; "" = it has none there. */
function hintFor(document: unknown, place: readonly string[], code: GraphFault['code']): string {
  const [top = '', , member = '', inner] = place;
  const node = valueAt(document, place.slice(0, 2));
  const value = valueAt(document, place);
  if (place.length === 1) return memberHint(top, value, tryllNames.graph);
  if (top !== 'nodes' || !isObject(node)) return '';
  if (place.length === 3) return member === 'type' ? typeHint(value) : memberHint(member, value, tryllNames.node);
  if (place.length !== 4 || inner === undefined) return '';
  const written = typeof node['type'] === 'string' ? node['type'] : '';
  const type = typeHere(written) ?? written;
  if (member === 'exits' && code === 'INVALID_EXIT_TARGET')
    return hint(String(value), own(tryllNames.targets, String(value)));
  if (member === 'exits')
    return hint(inner, own(own(tryllNames.exits, type) ?? {}, snakeCase(inner).replace(/_exit$/, '')));
  return member === 'params' ? paramHint(type, inner, value) : '';
}

function memberHint(name: string, value: unknown, members: Counterparts): string {
  if (Array.isArray(value)) {
    const list = own(tryllNames.lists, name);
    if (list) return hint(`list of ${name}`, list);
  }
  return hint(name, own(members, snakeCase(name)));
}

function typeHint(value: unknown): string {
  if (typeof value === 'string') return hint(value, own(tryllNames.types, plainType(value)));
  if (typeof value !== 'number') return '';
  const [type = '', found] = Object.entries(tryllNames.types)[value] ?? [];
  return hint(`node type ${value} (${type})`, found);
}

function paramHint(type: string, name: string, value: unknown): string {
  const plain = snakeCase(name).replace(/_\d+$/, '_N');
  const param = own(own(tryllNames.params, type) ?? {}, plain);
  if (param) return hint(name, param);
  const exit = plain.endsWith('_exit')
    ? own(own(tryllNames.exits, type) ?? {}, plain.slice(0, -'_exit'.length))
    : undefined;
  if (exit) return hint(name, { how: exit.how ?? `is an exit here: write ${exitText(exit.now, value)}` });
  if (typeof value !== 'string' && typeof value !== 'number') return '';
  const spoken = typeof value === 'number' ? `${name} ${value}` : value;
  return hint(spoken, own(own(tryllNames.values, plain) ?? {}, String(value)));
}

function exitText(exit: string | undefined, target: unknown): string {
  const written = typeof target === 'string' ? target : '...';
  return `"exits": {${JSON.stringify(exit)}: ${JSON.stringify(own(tryllNames.targets, written)?.now ?? written)}}`;
}

const hint = (name: string, found: Counterpart | undefined): string =>
  found && found.now !== name ? `; Tryll's ${name} ${found.how ?? `is "${found.now ?? ''}" here`}` : '';

const own = <T>(table: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined;

/** `TriggeredExit` and `triggered_exit` are one name; `template_` is what one language makes of `template`. */
const snakeCase = (name: string): string =>
  name
    .replaceAll(/(?<=[a-z0-9])[A-Z]/g, '_$&')
    .replace(/_$/, '')
    .toLowerCase();

const plainType = (name: string): string => name.replace(/^U?Tryll(?=[A-Z])/, '').replace(/(?:ParamsT?|Node)$/, '');
