// Hostile graphs: each is large in one way.
import { below, pick } from '../../seededRandom.mjs';
import { hostileSchema } from './schemas.mjs';
import { hostileText, sizeUpTo, times } from './texts.mjs';

const model = 'turngraph-demo';
const sampling = { max_tokens: 4, temperature: 0 };

const oneNode = (node, more = {}) => ({ start_node: 'a', default_model_name: model, nodes: { a: node }, ...more });
const generate = (params) => oneNode({ type: 'Generate', params: { sampling, ...params } });
const toolCall = (params) => oneNode({ type: 'ToolCall', params: { sampling, ...params } });
const guardrail = (params) => oneNode({ type: 'Guardrail', params });
const canned = (params) => oneNode({ type: 'CannedResponse', params });
const tool = (name, parameters, more = {}) => ({ name, description: 'A tool.', parameters, ...more });

const unknownKeys = (random, bytes) => {
  const name = pick(random, ['temperatur', 'inline_strin', 'x', 'descriptio', 'sampling', hostileText(random, 40)]);
  return Object.fromEntries(times(sizeUpTo(random, Math.ceil(bytes / 20)), (i) => [`${name}${i}`, i]));
};

/** Nested template sections: `{{#a}}{{#a}}...{{/a}}{{/a}}`. */
const nestedSections = (random, bytes) => {
  const depth = sizeUpTo(random, Math.ceil(bytes / 12));
  return '{{#a}}'.repeat(depth) + '{{/a}}'.repeat(depth);
};

/** A filter nested deeper than any may be. */
const nestedFilter = (random, bytes) => {
  let filter = { level: { $lte: 3 } };
  for (let left = Math.min(sizeUpTo(random, bytes / 8), 2000); left > 0; left--)
    filter = random() < 0.5 ? { $and: [filter] } : { $not: filter };
  return filter;
};

const template = (random, bytes) => (random() < 0.3 ? nestedSections(random, bytes) : hostileText(random, bytes));

/** Patterns: one long, many short, or repetitions of repetitions. */
function patterns(random, bytes) {
  return pick(random, [
    () => [hostileText(random, bytes)],
    () => [`(${'a|'.repeat(bytes / 2)}b)`],
    () => ['(a?)'.repeat(bytes / 4)],
    () => times(sizeUpTo(random, bytes / 20), (i) => `word ${i}.*[a-z]+`),
    () => times(sizeUpTo(random, 100), () => hostileText(random, bytes / 100)),
    () => [`(${'a{1,100}'.repeat(1 + below(random, 10))}){1,100}`],
    () => ['((((a{1,30}){1,30}){1,30}){1,30})'],
    () => [`${'('.repeat(bytes / 2)}a${')'.repeat(bytes / 2)}`],
    () => [`[${hostileText(random, bytes)}]`],
    () => ['\\pL'.repeat(bytes / 3)],
    () => times(sizeUpTo(random, bytes), () => ''),
  ])();
}

const parameters = (random, bytes) =>
  random() < 0.5
    ? { type: 'object', ...hostileSchema(random, bytes) }
    : times(sizeUpTo(random, bytes / 40), (i) => ({
        name: `p${i}`,
        type: pick(random, ['string', 'integer', 'boolean']),
      }));

/** Each takes a random source and about how many bytes the graph may have. */
const kinds = {
  schema: (random, bytes) => generate({ response_schema: hostileSchema(random, bytes) }),
  answerFields: (random, bytes) =>
    generate({
      answer_fields: [
        { name: 'say', type: 'speech' },
        ...times(sizeUpTo(random, 20), (i) => ({
          name: pick(random, [`f${i}`, hostileText(random, 70), '__proto__']),
          type: pick(random, ['enum', 'text', 'number', 'integer', 'speech']),
          ...(random() < 0.5 && { values: times(sizeUpTo(random, 300), () => hostileText(random, bytes / 300)) }),
          ...(random() < 0.2 && { minimum: below(random, 1e9), maximum: below(random, 1e9) }),
        })),
      ],
    }),
  strictTool: (random, bytes) =>
    toolCall({ tools: [tool('t', parameters(random, bytes))], strict: true, tool_choice: 'required' }),
  tool: (random, bytes) => toolCall({ tools: [tool('t', parameters(random, bytes))], strict: random() < 0.5 }),
  tools: (random, bytes) =>
    toolCall({
      tools: times(sizeUpTo(random, 200), (i) => tool(`t${i}`, parameters(random, bytes / 200))),
      strict: random() < 0.5,
    }),
  toolTexts: (random, bytes) => toolCall({ tools: [tool('t', [], { description: hostileText(random, bytes) })] }),
  toolNames: (random, bytes) => toolCall({ tools: [tool(hostileText(random, bytes), [])] }),
  systemPrompt: (random, bytes) => generate({ system_prompt: template(random, bytes) }),
  template: (random, bytes) =>
    generate({
      template: template(random, bytes),
      placement: pick(random, ['in_place_of_user', 'before_user_as_system']),
    }),
  lines: (random, bytes) => canned({ inline_strings: times(sizeUpTo(random, bytes / 10), () => template(random, 10)) }),
  line: (random, bytes) => canned({ inline_strings: [template(random, bytes)] }),
  patterns: (random, bytes) => guardrail({ inline_strings: patterns(random, bytes) }),
  manyGuardrails(random, bytes) {
    const inline_strings = patterns(random, bytes / 50);
    const nodes = times(50, (i) => [
      `g${i}`,
      { type: 'Guardrail', params: { inline_strings }, exits: { not_triggered: i < 49 ? `g${i + 1}` : '' } },
    ]);
    return { start_node: 'g0', nodes: Object.fromEntries(nodes) };
  },
  guidelines(random, bytes) {
    const count = sizeUpTo(random, 80);
    const share = bytes / count;
    const names = times(sizeUpTo(random, bytes / 100), (i) => `t${i}`);
    const guidelines = times(count, (i) => ({
      name: random() < 0.9 ? `g${i}` : hostileText(random, share),
      when: hostileText(random, share / 4),
      patterns: patterns(random, share / 4),
      tools: times(sizeUpTo(random, share / 20), (j) => `t${random() < 0.9 ? j % names.length : j}`),
    }));
    const select = { guidelines, match: pick(random, ['patterns', 'model']), max_tools: 1 + below(random, 20) };
    const serve = { sampling, tools_from: 'selection', tools: names.slice(0, 128).map((name) => tool(name, [])) };
    return {
      start_node: 'a',
      default_model_name: model,
      nodes: {
        a: { type: 'SelectTools', params: select, exits: { matched: 'b' } },
        b: { type: 'ToolCall', params: serve },
      },
    };
  },
  labels(random, bytes) {
    const count = sizeUpTo(random, 80);
    const labels = times(count, (i) => ({
      name: random() < 0.9 ? `l${i}` : hostileText(random, bytes / count),
      when: hostileText(random, bytes / count / 4),
      patterns: patterns(random, bytes / count / 4),
    }));
    return oneNode({ type: 'Route', params: { labels, match: pick(random, ['patterns', 'model']) } });
  },
  entries: (random, bytes) =>
    oneNode({
      type: 'Retrieve',
      params: {
        inline_strings: times(sizeUpTo(random, 200), () => hostileText(random, bytes / 200)),
        query: template(random, 20),
      },
    }),
  filter: (random, bytes) =>
    oneNode({
      type: 'Retrieve',
      params: {
        inline_strings: ['a'],
        filter: pick(random, [unknownKeys(random, bytes), nestedFilter(random, bytes)]),
      },
    }),
  unknownRootKeys: (random, bytes) =>
    oneNode({ type: 'CannedResponse', params: { inline_strings: ['a'] } }, unknownKeys(random, bytes)),
  unknownNodeKeys: (random, bytes) => oneNode({ type: 'Generate', ...unknownKeys(random, bytes) }),
  unknownParams: (random, bytes) => generate(unknownKeys(random, bytes)),
  unknownSampling: (random, bytes) => generate({ sampling: unknownKeys(random, bytes) }),
  unknownToolKeys: (random, bytes) => toolCall({ tools: [tool('t', [], unknownKeys(random, bytes))] }),
  unknownParameterKeys: (random, bytes) =>
    toolCall({ tools: [tool('t', [{ name: 'p', type: 'string', ...unknownKeys(random, bytes) }])] }),
  nodes: (random, bytes) => ({
    start_node: 'a0',
    nodes: Object.fromEntries(
      times(sizeUpTo(random, bytes / 60), (i) => [
        `a${i}`,
        { type: pick(random, ['Guardrail', 'Generte', 'CannedResponse']) },
      ]),
    ),
  }),
  exits: (random, bytes) =>
    oneNode({ type: 'Guardrail', params: { inline_strings: ['a'] }, exits: unknownKeys(random, bytes) }),
  wrongExits: (random, bytes) =>
    oneNode({
      type: 'CannedResponse',
      params: { inline_strings: ['a'] },
      exits: Object.fromEntries(times(sizeUpTo(random, bytes / 20), (i) => [`default${i}`, `b${i}`])),
    }),
  modelName: (random, bytes) => generate({ model_name: hostileText(random, bytes) }),
  nodeName(random, bytes) {
    const name = hostileText(random, bytes / 2);
    return { start_node: name, nodes: { [name]: { type: 'CannedResponse', params: { inline_strings: ['a'] } } } };
  },
  wrongValues: (random, bytes) =>
    generate({ system_prompt: times(bytes / 4, (i) => i), sampling: { stop: times(bytes / 8, () => 'a') } }),
  deep: (random, bytes) => nested(sizeUpTo(random, bytes / 8)),
};

function nested(depth) {
  let value = 1;
  for (let left = Math.min(depth, 2000); left > 0; left--) value = { a: value };
  return { start_node: 'a', nodes: value };
}

/** A graph of at most about `bytes` bytes, and what it is large in. */
export function hostileGraph(random, bytes) {
  const [kind, create] = pick(random, Object.entries(kinds));
  return { kind, graph: create(random, Math.max(1, Math.floor(bytes))) };
}
