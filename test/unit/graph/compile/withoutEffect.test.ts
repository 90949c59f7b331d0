import { describe, expect, it } from 'vitest';
import { checkGraph } from '../../../../src/server/checkGraph.ts';
import { readCatalogue } from '../../../../src/inference/models/catalogue/catalogue.ts';
import { registryWith } from '../../../../src/graph/nodes/index.ts';
import { repositoryPath } from '../../../helpers/server.ts';

const registry = registryWith();

/** The warnings of a graph that starts with its first node. */
async function warningsOf(nodes: Readonly<Record<string, object>>): Promise<readonly string[]> {
  const { faults, warnings } = await checkGraph(
    { start_node: Object.keys(nodes)[0] ?? '', default_model_name: 'turngraph-demo', nodes },
    {
      registry,
      catalogue: await readCatalogue(repositoryPath('models.json')),
      storageRoot: repositoryPath('graphs'),
    },
  );
  expect(faults).toEqual([]);
  return warnings;
}

const tools = [{ name: 'jump', description: 'Jumps.' }];
const say = (line: string): object => ({ type: 'CannedResponse', params: { inline_strings: [line] } });
const detect = (params: object, exits: object): Readonly<Record<string, object>> => ({
  detect: { type: 'ToolCall', params: { tools, ...params }, exits: { no_tool_called: 'no', ...exits } },
  no: say('No.'),
  other: say('Other.'),
});
const none = { no_tool_called: 'no', tool_called: 'other' };

describe('what has no effect without another parameter', () => {
  it.each([
    ['exits.unsure', 'min_confidence', detect({}, { unsure: 'other' }), detect({ min_confidence: 0.5 }, {})],
    ['exits.no_results', 'await_results', detect({}, { no_results: 'other' }), detect({ await_results: true }, {})],
    ['params.results_timeout_ms', 'await_results', detect({ results_timeout_ms: 9 }, none), detect({}, none)],
    ['params.summary_tokens', 'summary', detect({ summary_tokens: 64 }, none), detect({ summary: true }, none)],
  ])('is a warning: %s of a ToolCall without %s', async (place, needed, without, withIt) => {
    const warning = `detect.${place} has no effect without "${needed}"; set detect.params.${needed}, or remove it`;
    expect(await warningsOf(without)).toContain(warning);
    expect(await warningsOf(withIt)).not.toContain(warning);
  });

  it('is none with the other parameter', async () => {
    const params = {
      min_confidence: 0.5,
      await_results: true,
      results_timeout_ms: 9,
      summary: true,
      summary_tokens: 64,
    };
    const exits = { unsure: 'other', no_results: 'other' };
    expect(await warningsOf(detect(params, exits))).toEqual([]);
  });

  it.each([
    ['summary_tokens', 'summary', { summary_tokens: 64 }],
    ['placement', 'template', { placement: 'after_user_as_user' }],
  ])('is a warning: %s of a Generate without %s', async (param, needed, params) => {
    expect(await warningsOf({ talk: { type: 'Generate', params } })).toEqual([
      `talk.params.${param} has no effect without "${needed}"; set talk.params.${needed}, or remove it`,
    ]);
  });

  it('is a warning for the exit missing of a CannedResponse without a key', async () => {
    const line = { ...say('Yes.'), exits: { missing: 'no' } };
    expect(await warningsOf({ line, no: say('No.') })).toEqual([
      'line.exits.missing has no effect without "key"; set line.params.key, or remove it',
    ]);
  });

  it('is named by parameters and exits that the types have', () => {
    const types = [...registry.values()].filter(({ needs }) => needs);
    expect(types.length).toBeGreaterThan(2);
    for (const { needs = {}, params, fixedExits = [] } of types) {
      const known = [...Object.keys(params.properties), ...fixedExits.map((exit) => `exits.${exit}`)];
      expect([...Object.keys(needs), ...Object.values(needs)].filter((name) => !known.includes(name))).toEqual([]);
    }
  });
});

describe('a field that is read', () => {
  const answer_fields = [
    { name: 'mood', type: 'enum', values: ['happy', 'angry'] },
    { name: 'say', type: 'speech' },
  ];
  const talk = { type: 'Generate', params: { answer_fields }, exits: { default: 'next' } };
  const branch = (name: string): object => ({
    type: 'Branch',
    params: { cases: [{ exit: 'angry', when: { [name]: 'angry' } }] },
    exits: { angry: 'line' },
  });

  it.each([
    ['a line', { talk, next: say('{{fields.modo}}') }, 'next, line 0'],
    ['a section', { talk, next: say('{{#fields.modo}}!{{/fields.modo}}') }, 'next, line 0'],
    [
      'a system prompt',
      { talk, next: { type: 'Generate', params: { system_prompt: '{{fields.modo}}' } } },
      'next.params.system_prompt',
    ],
    ['a Branch', { talk, next: branch('fields.modo'), line: say('Out!') }, 'next.params.cases[0]'],
  ])('by %s and that no node answers in is a warning with the nearest', async (_, nodes, place) => {
    expect(await warningsOf(nodes)).toEqual([
      `${place} names "fields.modo", and no answer_fields of the graph have "modo"; did you mean "mood"?`,
    ]);
  });

  it('is a warning where no node answers in fields', async () => {
    expect(await warningsOf({ line: say('{{fields.mood}}') })).toEqual([
      'line, line 0 names "fields.mood", and no answer_fields of the graph have "mood"',
    ]);
  });

  it.each([
    ['a line', { talk, next: say('{{fields.mood}} {{fields.say}} {{fieldsOfHonour}}') }],
    ['a Branch', { talk, next: branch('fields.mood'), line: say('Out!') }],
  ])('by %s and that a node answers in is none', async (_, nodes) => {
    expect(await warningsOf(nodes)).toEqual([]);
  });
});
