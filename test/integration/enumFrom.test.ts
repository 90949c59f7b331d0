import { describe, expect, it } from 'vitest';
import { keywords } from '../helpers/keywords.ts';
import { chatmlCall, scriptedEngine } from '../helpers/resultGraphs.ts';
import { errorOf, subprotocols, TestClient, useServer } from '../helpers/server.ts';

const engine = scriptedEngine([
  { match: 'rope', node: 'detect', answer: chatmlCall('give', { item: 'rope' }) },
  { match: 'crown', node: 'detect', answer: chatmlCall('give', { item: 'crown' }) },
  { match: 'stack', node: 'detect', answer: chatmlCall('stack', { items: [{ id: 7 }, { id: 9 }] }) },
  { match: '', node: 'detect', answer: 'No call.' },
  { match: '', node: 'answer', answer: 'Good day.' },
]);
const server = useServer({ engines: { mock: engine }, extension: { nodeTypes: [keywords] } });

const give = {
  name: 'give',
  description: 'Give an item.',
  parameters: [{ name: 'item', type: 'string', description: 'Which item.', enum_from: 'inventory' }],
};
const stack = {
  name: 'stack',
  description: 'Stack items.',
  parameters: {
    type: 'object',
    properties: {
      items: {
        type: 'array',
        items: { type: 'object', properties: { id: { type: 'integer', enum_from: 'ids' } }, required: ['id'] },
      },
    },
    required: ['items'],
  },
};
const wave = { name: 'wave', description: 'Wave.', parameters: [] };
const shop = (params: object = {}) => ({
  start_node: 'detect',
  nodes: {
    detect: {
      type: 'ToolCall',
      params: { tools: [give, stack, wave], ...params },
      exits: { no_tool_called: 'answer' },
    },
    answer: { type: 'Generate' },
  },
});
const offered = (): readonly string[] | undefined =>
  engine.prompts.at(-1)?.tools?.definitions.map(({ function: { name } }) => name);
const json = JSON.stringify;
const variables = { inventory: json(['rope', 'lamp']), ids: json([7, 8]) };
const warningOf = (tool: string, param: string, variable: string, problem: string): string =>
  `detect leaves out the tool ${tool} in this turn: its parameter ${param} takes its values from the variable "${variable}", which ${problem}`;
const listOf = (types: string): string => `send it with the message as a JSON list of ${types}`;

describe.each(subprotocols)('over %s, a tool with enum_from', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);

  it('is offered with the values of the turn, as with a fixed enum', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(shop());
    expect(await client.sendMessage(agentId, 'rope', variables)).toMatchObject({
      calls: [{ toolName: 'give', typedArgumentsJson: '{"item": "rope"}', issues: [] }],
      warnings: [],
    });
    const fixed = json(shop().nodes.detect.params.tools)
      .replace('"enum_from":"inventory"', '"enum":["rope","lamp"]')
      .replace('"enum_from":"ids"', '"enum":[7,8]');
    const [prompt] = engine.prompts.slice(-1);
    const other = await client.createAgent(shop({ tools: JSON.parse(fixed) as object }));
    await client.sendMessage(other, 'rope');
    expect(engine.prompts.at(-1)).toEqual(prompt);
  });

  it.each([false, true])('has other values in another turn, and only these are right (strict: %j)', async (strict) => {
    await using client = await connect();
    const agentId = await client.createAgent(shop({ strict }));
    const turn = (text: string, inventory: readonly string[]) =>
      client.sendMessage(agentId, text, { ...variables, inventory: json(inventory) });
    expect(await turn('rope', ['rope'])).toMatchObject({ calls: [{ issues: [] }] });
    const wrong = await turn('rope', ['crown', 'lamp']);
    // The mock engine writes what it is told to, so that the check after decoding is seen.
    if (strict) expect(wrong).toMatchObject({ calls: [], events: [{ eventType: 'call_unread' }] });
    else
      expect(wrong.calls).toMatchObject([
        { issues: [{ code: 'not_in_enum', message: 'item must be one of "crown", "lamp", not "rope"' }] },
      ]);
    expect(await turn('crown', ['crown', 'lamp'])).toMatchObject({ calls: [{ issues: [] }] });
    expect(await turn('rope', ['rope'])).toMatchObject({ calls: [{ issues: [] }] });
  });

  it('has its values in an insight, where it is consequential', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(shop({ tools: [{ ...give, consequential: true }] }));
    const { calls, events } = await client.sendMessage(agentId, 'crown', variables);
    expect(calls).toEqual([]);
    expect(JSON.parse(events[0]?.payloadJson ?? '')).toMatchObject({
      tool: 'give',
      invalid: [{ name: 'item', message: 'item must be one of "rope", "lamp", not "crown"' }],
    });
  });

  it('is checked in the items of a list', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(shop());
    const { calls } = await client.sendMessage(agentId, 'stack', variables);
    expect(calls).toMatchObject([
      { issues: [{ code: 'not_in_enum', param: 'items[1].id', message: 'items[1].id must be one of 7, 8, not 9' }] },
    ]);
  });

  it.each([
    [undefined, `is missing; ${listOf('strings')}`],
    ['rope', `is no JSON list; ${listOf('strings')}`],
    ['[]', 'is an empty list'],
    ['["rope", 1]', `has 1 at index 1, which is no string; ${listOf('strings')}`],
  ])('is left out of the turn where the variable is %j', async (inventory, problem) => {
    await using client = await connect();
    const agentId = await client.createAgent(shop());
    const { ids } = variables;
    const turn = await client.sendMessage(agentId, 'hello', { ids, ...(inventory !== undefined && { inventory }) });
    expect(offered()).toBeUndefined();
    expect(engine.prompts.at(-2)?.tools?.definitions.map(({ function: { name } }) => name)).toEqual(['stack', 'wave']);
    expect(turn.warnings).toEqual([warningOf('give', 'item', 'inventory', problem)]);
  });

  it('is left out with a suggestion where a variable has a similar name', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(shop({ tools: [give, wave] }));
    const { warnings } = await client.sendMessage(agentId, 'hello', { inventroy: '["rope"]' });
    const problem = `is missing; ${listOf('strings')}; did you mean "inventroy"?`;
    expect(warnings).toEqual([warningOf('give', 'item', 'inventory', problem)]);
  });

  it('does not ask the model where no tool is left', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(shop({ tools: [give, stack], generate_on_no_tool: true }));
    const asked = engine.prompts.length;
    expect(await client.sendMessage(agentId, 'rope')).toMatchObject({
      steps: 'detect:no_tool_called answer:default',
      status: 'SUCCESS',
      warnings: [
        warningOf('give', 'item', 'inventory', `is missing; ${listOf('strings')}`),
        warningOf('stack', 'items[].id', 'ids', `is missing; ${listOf('integers')}`),
      ],
    });
    expect(engine.prompts).toHaveLength(asked + 1);
  });

  it('is not asked for by tool_choice where it is left out', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(shop({ tool_choice: 'give' }));
    expect(await client.sendMessage(agentId, 'rope')).toMatchObject({
      steps: 'detect:no_tool_called answer:default',
      warnings: [
        warningOf('give', 'item', 'inventory', `is missing; ${listOf('strings')}`),
        warningOf('stack', 'items[].id', 'ids', `is missing; ${listOf('integers')}`),
        'detect.params.tool_choice is "give", and that tool is not offered in this turn: the model was not asked; set tool_choice to "auto" if that may be',
      ],
    });
  });

  it.each([false, true])('is left out where the tools before it have many values (strict: %j)', async (strict) => {
    await using client = await connect();
    const names = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth'];
    const tools = [...names.map((name) => ({ ...give, name })), wave];
    const agentId = await client.createAgent(shop({ tools, strict }));
    const inventory = json([`a ${'long '.repeat(6000)}name`]);
    const { warnings } = await client.sendMessage(agentId, 'hello', { inventory });
    const characters = inventory.length * 5;
    expect(warnings.filter((warning) => warning.includes('of all tools'))).toEqual(
      ['fifth', 'sixth'].map(
        (name) =>
          `detect leaves out the tool ${name} in this turn: with it, the lists of values of all tools have ${characters} characters, and 131072 are allowed; send fewer values in "inventory"`,
      ),
    );
  });

  it('is left out where its grammar is too large, and the turn goes on', async () => {
    await using client = await connect();
    const parameters = {
      type: 'object',
      properties: {
        ...Object.fromEntries(
          Array.from({ length: 20 }, (_, index) => [`b${index}`, { type: 'array', items: {}, maxItems: 256 }]),
        ),
        item: { type: 'string', enum_from: 'inventory' },
      },
    };
    const agentId = await client.createAgent(shop({ tools: [{ ...give, parameters }, wave], strict: true }));
    const inventory = json(Array.from({ length: 900 }, (_, index) => `${index} ${'of all things'.repeat(2)}`));
    const turn = await client.sendMessage(agentId, 'hello', { inventory });
    expect(turn.status).toBe('SUCCESS');
    expect(turn.warnings).toEqual([
      expect.stringMatching(
        /^detect leaves out the tool give in this turn: .*the grammar larger than 65536 .*, or send fewer values in "inventory"$/,
      ),
    ]);
  });

  it('is needed for nothing that is not selected', async () => {
    await using client = await connect();
    const { detect, answer } = shop({ tools_from: 'selection' }).nodes;
    const words = [
      { word: 'rope', tools: ['give'] },
      { word: 'wave', tools: ['wave'] },
    ];
    const select = { type: 'Keywords', params: { words }, exits: { default: 'detect' } };
    const agentId = await client.createAgent({ start_node: 'select', nodes: { select, detect, answer } });
    expect(await client.sendMessage(agentId, 'wave')).toMatchObject({ warnings: [] });
    expect(await client.sendMessage(agentId, 'rope', variables)).toMatchObject({
      calls: [{ toolName: 'give', because: 'rope' }],
      warnings: [],
    });
    expect(await client.sendMessage(agentId, 'rope')).toMatchObject({
      steps: 'select:default detect:no_tool_called answer:default',
      warnings: [warningOf('give', 'item', 'inventory', `is missing; ${listOf('strings')}`)],
    });
  });

  it('is refused with enum, at its place', async () => {
    await using client = await connect();
    const [param] = give.parameters;
    const tools = [{ ...give, parameters: [{ ...param, enum: ['rope'] }] }];
    expect(errorOf(await client.request('createAgent', { graphJson: json(shop({ tools })) }))).toMatchObject({
      code: 3003,
      message: 'detect.params.tools[0].parameters[0].enum_from stands next to "enum"; leave one of the two out',
    });
  });

  it('is refused by a strict node where no list of values could be enforced', async () => {
    await using client = await connect();
    const parameters = {
      type: 'object',
      properties: { item: { type: 'string', maxLength: 9, enum_from: 'inventory' } },
    };
    const graphJson = json(shop({ strict: true, tools: [{ ...give, parameters }] }));
    expect(errorOf(await client.request('createAgent', { graphJson })).message).toMatch(
      /^detect\.params\.tools\[0\]\.parameters\.properties\.item\.maxLength .*the tool "give" cannot be strict with it$/,
    );
  });

  it('lets check warn of a turn that can end without a word', async () => {
    await using client = await connect();
    const warningsOf = async (tools: readonly object[], tool_choice: string) => {
      const nodes = { detect: { type: 'ToolCall', params: { tools, tool_choice, generate_on_no_tool: true } } };
      const answer = await client.request('createAgent', { graphJson: json({ start_node: 'detect', nodes }) });
      return answer.body === 'createAgent' ? answer.createAgent.warnings : [answer.body];
    };
    const warning = expect.stringMatching(/^detect\.exits\.no_tool_called can end a turn/) as string;
    expect(await warningsOf([give, stack], 'auto')).toEqual([warning]);
    expect(await warningsOf([give, wave], 'give')).toEqual([warning]);
    expect(await warningsOf([give, wave], 'auto')).toEqual([]);
  });
});
