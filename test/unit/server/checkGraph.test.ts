import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkGraph } from '../../../src/server/checkGraph.ts';
import { Agent } from '../../../src/graph/agent/agent.ts';
import { defaultServerOptions } from '../../../src/server/config.ts';
import { mockEngine } from '../../../src/inference/mock/engine.ts';
import { Fault } from '../../../src/protocol/fault.ts';
import { readCatalogue } from '../../../src/inference/models/catalogue/catalogue.ts';
import { ModelPool } from '../../../src/inference/models/pool/pool.ts';
import { registryWith } from '../../../src/graph/nodes/index.ts';
import { StorageRoot } from '../../../src/graph/storage/storageRoot.ts';
import { SessionStorages } from '../../../src/graph/storage/sessionStorages.ts';
import { repositoryPath } from '../../helpers/server.ts';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const folder = repositoryPath('graphs');
const examples = readdirSync(folder)
  .filter((file) => file.endsWith('.json') && file !== 'graph.schema.json')
  .map((file) => [file, JSON.parse(readFileSync(join(folder, file), 'utf8')) as Json] as const);

const registry = registryWith();
const catalogue = await readCatalogue(repositoryPath('models.json'));

const token = (name: string | number): string => `/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`;

/** A graph with one invalid value, and the pointer that its faults must contain. */
interface InvalidGraph {
  readonly what: string;
  readonly document: Json;
  readonly pointer: string;
}

/** Yields variants of a document in which one value is invalid. */
function* invalidVariants(value: Json, pointer: string, withValue: (other: Json) => Json): Generator<InvalidGraph> {
  const wrong = typeof value === 'number' ? 'many' : 4711;
  // A number is invalid in place of any string, including enums, types and exit targets.
  yield { what: `${JSON.stringify(wrong)} at ${pointer || 'the root'}`, document: withValue(wrong), pointer };
  // Conditions are on any name, with a value of any type.
  if (value === null || typeof value !== 'object' || pointer.endsWith('/when')) return;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      yield* invalidVariants(item, pointer + token(index), (other) => withValue(value.with(index, other)));
    }
    return;
  }
  if (hasFixedKeys(pointer))
    yield {
      what: `an unknown field in ${pointer || 'the root'}`,
      document: withValue({ ...value, strangr: 1 }),
      pointer: `${pointer}/strangr`,
    };
  for (const [key, member] of Object.entries(value)) {
    yield* invalidVariants(member, pointer + token(key), (other) => withValue({ ...value, [key]: other }));
  }
}

// The keys of `nodes` are names that the author chooses.
const hasFixedKeys = (pointer: string): boolean => pointer !== '/nodes';

const invalidGraphs = examples.flatMap(([file, document]) =>
  [...invalidVariants(document, '', (other) => other)].map((variant) => [`${file}: ${variant.what}`, variant] as const),
);

describe('a graph with one invalid value', () => {
  it('is tested in more than 200 variants', () => {
    expect(invalidGraphs.length).toBeGreaterThan(200);
  });

  it.each(invalidGraphs)('is rejected with the pointer to it: %s', async (_, { document, pointer }) => {
    const { faults } = await checkGraph(document, { registry, catalogue, storageRoot: folder });
    expect(faults.map((fault) => fault.pointer)).toEqual([pointer]);
    for (const { message } of faults) expect(message).toMatch(/\S+ .+/);
  });

  it('leaves no model in use', async () => {
    await using pool = new ModelPool(mockEngine(), { catalogue, idleMs: 0, slots: 1, threads: 1, gpu: 'off' });
    const storages = new SessionStorages(new StorageRoot(folder), Infinity);
    const options = {
      id: 1,
      registry,
      pool,
      storages,
      defaultModelName: '',
      diagnostics: false,
      maxSteps: 0,
      history: [],
      turnTimeoutMs: 1000,
    };
    // A third of each graph: what is refused late comes after the models of other nodes.
    for (const [, { document }] of invalidGraphs.filter((_, index) => index % 3 === 0)) {
      await expect(
        Agent.create({ ...options, graph: document, limits: defaultServerOptions() }),
      ).rejects.toBeInstanceOf(Fault);
    }
    expect([...catalogue.models.keys()].filter((name) => pool.state(name).uses > 0)).toEqual([]);
  });
});

describe('a graph with faults of several kinds', () => {
  const faultsOf = async (graph: Json): Promise<readonly string[]> => {
    const { faults } = await checkGraph(graph, { registry, catalogue, storageRoot: folder });
    return faults.map(({ message }) => message.replace(/;.*/, ''));
  };
  const answer = { type: 'Generate', params: { model_name: 'turngraph-dmeo' }, exits: { default: 'gaurd' } };
  const guard = { type: 'Guardrail', params: { inline_strings: ['fine', '('] } };

  it('is told of all of them at once', async () => {
    expect(
      await faultsOf({ startnode: 'guard', start_node: 'answer', nodes: { answer, guard, odd: { typo: 1 } } }),
    ).toEqual([
      'startnode is not known here',
      'odd.type is missing',
      'odd.typo is not known here',
      'answer.exits.default leads to no node: "gaurd"',
      'answer.params.model_name cannot be used: the catalogue has no model "turngraph-dmeo"',
      expect.stringMatching(/^guard\.params\.inline_strings\[1\] is not a supported pattern/),
    ]);
  });

  it('is told of a node without a name: an exit to it would end the turn', async () => {
    const nodes = { '': { type: 'CannedResponse', params: { inline_strings: ['No.'] } } };
    expect(await faultsOf({ start_node: '', nodes })).toEqual(['nodes has a node without a name, and "" ends a turn']);
  });

  it('blames the default model of the graph, once for all nodes that use it', async () => {
    const second = { type: 'Generate' };
    const nodes = { answer: { ...second, exits: { default: 'second' } }, second };
    expect(await faultsOf({ default_model_name: 'turngraph-dmeo', start_node: 'answer', nodes })).toEqual([
      'default_model_name cannot be used: the catalogue has no model "turngraph-dmeo"',
    ]);
  });
});

describe("a graph with the model's own tool-call format", () => {
  it('is valid: whether the model has one is known when it is loaded', async () => {
    const tools = [{ name: 'look', description: 'Looks.' }];
    const params = { model_name: 'turngraph-demo', tool_call_format: 'native', tool_choice: 'required', tools };
    const graph = { start_node: 'act', nodes: { act: { type: 'ToolCall', params } } };
    expect(await checkGraph(graph, { registry, catalogue, storageRoot: folder })).toMatchObject({ faults: [] });
  });
});

describe('a graph that asks about unsure calls', () => {
  it('gets no warning that calls have no confidence: that is so for some models only', async () => {
    const tools = [{ name: 'look', description: 'Looks.' }];
    const params = { model_name: 'turngraph-demo', min_confidence: 0.6, tools };
    const ask = { type: 'CannedResponse', params: { inline_strings: ['{{#unsure}}Did you mean that?{{/unsure}}'] } };
    const exits = { unsure: 'ask', no_tool_called: 'ask' };
    const graph = { start_node: 'act', nodes: { act: { type: 'ToolCall', params, exits }, ask } };
    const checked = await checkGraph(graph, { registry, catalogue, storageRoot: folder });
    expect(checked).toEqual({ faults: [], warnings: [] });
  });
});
