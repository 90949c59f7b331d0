import type { Rng } from '../../scripts/seededRandom.mjs';

/** A node of a graph document, as tests write it. */
export interface PlainNode {
  readonly type: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly exits: Readonly<Record<string, string>>;
}

/** A graph document, as tests write it. */
export interface PlainGraph {
  readonly default_model_name: string;
  readonly start_node: string;
  readonly nodes: Readonly<Record<string, PlainNode>>;
}

/** Lines of random graphs, and whether a line shows what a model wrote in a call. */
export const randomLines: ReadonlyMap<string, boolean> = new Map([
  ['No.', false],
  ['You said {{user_message}}.', false],
  ['{{#tool_calls}}Done. {{/tool_calls}}{{^tool_calls}}{{user_message}}?{{/tool_calls}}', false],
  ['{{#tool_results}}{{#ok}}{{content}}{{/ok}}{{/tool_results}}', false],
  ['{{#insights}}{{#missing}}{{significance}}{{/missing}}{{/insights}}', false],
  ['{{#tool_calls}}{{arguments.place}} {{/tool_calls}}', true],
  ['{{#tool_results}}{{name}}: {{content}}{{/tool_results}}', true],
  ['{{#insights}}{{#invalid}}{{message}}{{/invalid}}{{/insights}}', true],
]);

/** Patterns of random graphs; a message or an answer that has `stop` matches. */
const patterns = ['stop'];
const tools = ['go', 'look'].map((name) => ({
  name,
  description: `The tool ${name}.`,
  parameters: [
    { name: 'place', type: 'string' },
    { name: 'count', type: 'integer', required: false },
  ],
}));

type Kind = (random: Rng) => Pick<PlainNode, 'type' | 'params'> & { readonly exits: readonly string[] };

const kinds: Readonly<Record<string, Kind>> = {
  guardrail: (random) => ({
    type: 'Guardrail',
    params: {
      inline_strings: random.oneIn(7) ? [] : patterns,
      ...(random.chance(0.6) && { watch: random.chance(0.8) ? 'answer' : 'message' }),
    },
    exits: ['triggered', 'not_triggered'],
  }),
  generate: (random) => ({
    type: 'Generate',
    params: random.chance(0.75) ? { hold: true } : random.oneIn(2) ? { stream: false } : {},
    exits: ['default'],
  }),
  entry: (random) => ({
    type: 'CannedResponse',
    params: { string_storage: 'help.json', key: random.pick(['save', 'none']) },
    exits: ['default', 'missing'],
  }),
  line: (random) => ({
    type: 'CannedResponse',
    params: { inline_strings: [random.chance(0.3) ? 'No.' : random.pick([...randomLines.keys()])] },
    exits: ['default'],
  }),
  toolCall: (random) => ({
    type: 'ToolCall',
    params: {
      tools,
      tool_choice: random.pick(['auto', 'auto', 'required', 'none', 'go']),
      max_rounds: 1 + random.below(3),
      ...(random.oneIn(2) && { await_results: true, results_timeout_ms: 1 }),
      ...(random.oneIn(4) && { strict: true }),
      ...(random.oneIn(4) && { generate_on_no_tool: true }),
    },
    exits: ['tool_called', 'no_tool_called', 'no_results'],
  }),
  route: (random) => {
    const labels = ['a', 'b', 'c'].slice(0, 1 + random.below(3));
    const withPatterns = labels.map((name) => ({ name, patterns: random.oneIn(4) ? [] : [name] }));
    const params = random.oneIn(2)
      ? { match: 'patterns', labels: withPatterns }
      : { labels: labels.map((name) => ({ name })), ...(random.oneIn(2) && { threshold: 0.5 }) };
    return { type: 'Route', params, exits: [...labels, 'not_matched'] };
  },
  selectTools: (random) => ({
    type: 'SelectTools',
    params: {
      guidelines: [{ name: 'all', when: 'always', patterns: ['x'], tools: [] }],
      ...(random.oneIn(2) && { match: 'model' }),
    },
    exits: ['matched', 'none_matched'],
  }),
  retrieve: (random) => ({
    type: 'Retrieve',
    params: { inline_strings: random.oneIn(4) ? [] : ['The gate is shut.'] },
    exits: ['found', 'not_found'],
  }),
};

// Kinds that are there more often come up more often.
const kindNames =
  'guardrail guardrail guardrail generate generate generate line entry toolCall toolCall route selectTools retrieve'.split(
    ' ',
  );

/**
 * A valid graph of up to seven nodes. Some have been given what graphs of people have: a Guardrail at the start, exits that
 * lead onwards only, a Guardrail after each held answer.
 */
export function randomGraph(random: Rng): PlainGraph {
  const count = random.oneIn(20) ? 1 : 3 + random.below(5);
  const names = Array.from({ length: count }, (_, index) => `n${index}`);
  const goesOn = random.oneIn(2);
  const startsGuarded = random.oneIn(2);
  const checksAnswers = random.chance(0.4);
  const nodes = names.map((name, index): [string, PlainNode] => {
    const kind = kinds[index === 0 && startsGuarded ? 'guardrail' : random.pick(kindNames)];
    if (!kind) throw new Error('unknown kind');
    const { exits, ...node } = kind(random);
    const start = index === 0 && startsGuarded ? { params: { inline_strings: patterns } } : {};
    const candidates = goesOn ? names.slice(index + 1) : names;
    const targets = exits.flatMap((exit) => {
      // A chain of calls.
      if (exit === 'tool_called' && random.oneIn(3)) return [[exit, name]];
      if (node.type === 'ToolCall' && random.oneIn(2)) return [[exit, 'told']];
      if (candidates.length === 0 || random.oneIn(7)) return random.oneIn(3) ? [[exit, '']] : [];
      return [[exit, (random.oneIn(2) && names[index + 1]) || random.pick(candidates)]];
    });
    return [name, { ...node, ...start, exits: Object.fromEntries(targets) as Record<string, string> }];
  });
  if (nodes.some(([, { exits }]) => Object.values(exits).includes('told'))) nodes.push(['told', told(random)]);
  if (!checksAnswers) return toGraph(nodes);
  // A check after each held answer, and a line for what it finds.
  const check = (next: string): PlainNode => ({
    type: 'Guardrail',
    params: { inline_strings: patterns, watch: 'answer' },
    exits: { triggered: 'line', not_triggered: next },
  });
  const checked = nodes.flatMap(([name, node]): [string, PlainNode][] => {
    if (node.type !== 'Generate') return [[name, node]];
    const checkName = `${name}_check`;
    return [
      [name, { ...node, params: { ...node.params, hold: true }, exits: { default: checkName } }],
      [checkName, check(node.exits['default'] ?? '')],
    ];
  });
  const line: PlainNode = { type: 'CannedResponse', params: { inline_strings: ['No.'] }, exits: {} };
  const needsLine = checked.length > nodes.length;
  return toGraph(needsLine ? [...checked, ['line', line]] : checked);
}

/** A line that may tell of calls. */
const told = (random: Rng): PlainNode => ({
  type: 'CannedResponse',
  params: { inline_strings: [random.pick([...randomLines].filter(([, shows]) => shows || random.oneIn(2)))[0]] },
  exits: {},
});

const toGraph = (nodes: readonly (readonly [string, PlainNode])[]): PlainGraph => ({
  default_model_name: 'turngraph-demo',
  start_node: nodes[0]?.[0] ?? '',
  nodes: Object.fromEntries(nodes),
});
