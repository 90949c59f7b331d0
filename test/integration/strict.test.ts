import { describe, expect, it } from 'vitest';
import { defineFormat, detect } from '../../src/index.ts';
import { chat, lamp, setLight } from '../helpers/graphs.ts';
import { useServer, TestClient, errorOf, subprotocols } from '../helpers/server.ts';

const callText = (name: string, args: string): string =>
  `<tool_call>\n{"name": "${name}", "arguments": ${args}}\n</tool_call>`;

const loose = defineFormat({
  name: 'loose',
  place: 'system',
  render: () => 'Call something.',
  detect: (text) => detect(text, { name: 'name', arguments: 'arguments' }),
});

const server = useServer({
  extension: { formats: [loose] },
  script: [
    { match: 'porch', answer: callText('set_light', '{"name": "porch", "on": true}') },
    { match: 'portal', answer: callText('open_portal', '{}') },
    { match: 'half', answer: callText('set_light', '{"name": "porch"}') },
    {
      match: 'both',
      answer: `${callText('open_portal', '{}')}${callText('set_light', '{"name": "hall", "on": false}')}`,
    },
    { match: 'long', answer: callText('set_light', `{"name": "${'🎉'.repeat(200)}", "on": true}`) },
    { match: 'late', answer: callText('set_light', `{"name": "${'🎉'.repeat(200)}", "on": 7}`) },
    { match: 'mood', answer: '{"mood": "calm", "sure": true}' },
  ],
});

const dim = {
  name: 'dim',
  description: 'Dim.',
  parameters: [
    { name: 'level', type: 'integer' },
    { name: 'rooms', type: 'array', items: { type: 'string', pattern: '^[a-z]+$' } },
  ],
};
const paint = {
  name: 'paint',
  description: 'Paint.',
  parameters: {
    type: 'object',
    properties: { colour: { $ref: '#/$defs/colour' } },
    $defs: { colour: { type: 'string', pattern: '^[a-z]+$' } },
  },
};

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);
const switches = (count: number): readonly object[] =>
  range(count).map((index) => ({ name: `p${index}`, type: 'boolean', required: false }));

describe.each(subprotocols)('a strict agent over %s', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);

  it('accepts only calls that its tools allow, also from an engine without grammars', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(lamp({ strict: true }));
    expect((await client.sendMessage(agentId, 'porch')).calls).toMatchObject([{ toolName: 'set_light', known: true }]);
    expect((await client.sendMessage(agentId, 'both')).calls).toMatchObject([{ toolName: 'set_light' }]);
    for (const text of ['portal', 'half']) {
      expect(await client.sendMessage(agentId, text)).toMatchObject({
        calls: [],
        steps: 'detect:no_tool_called answer:default',
        warnings: expect.arrayContaining(['detect wrote a call that its tools do not allow']) as unknown,
      });
    }
  });

  it('checks a call of any length', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(lamp({ strict: true }));
    expect((await client.sendMessage(agentId, 'long')).calls).toMatchObject([{ toolName: 'set_light', known: true }]);
    expect((await client.sendMessage(agentId, 'late')).calls).toEqual([]);
  });

  it('says that an answer was cut off inside its JSON', async () => {
    await using client = await connect();
    const response_schema = { type: 'object', properties: { mood: { type: 'string' } } };
    const agentId = await client.createAgent(chat({ response_schema, sampling: { max_tokens: 3 } }));
    expect(await client.sendMessage(agentId, 'mood')).toMatchObject({
      warnings: ['answer was cut off inside its JSON; raise sampling.max_tokens'],
    });
    await client.request('changeParams', {
      agentId,
      nodeName: 'answer',
      paramsJson: '{"sampling": {"max_tokens": 99}}',
    });
    expect(await client.sendMessage(agentId, 'mood')).toMatchObject({ warnings: [] });
    const unconstrained = await client.createAgent(chat({ sampling: { max_tokens: 3 } }));
    expect(await client.sendMessage(unconstrained, 'mood')).toMatchObject({ warnings: [] });
  });

  it('says by which limit a call was cut off', async () => {
    await using client = await connect();
    const sampling = { max_tokens: 3 };
    for (const [params, limit] of [
      [{ strict: true }, 'raise max_tokens_per_call'],
      [{ strict: false }, 'raise sampling.max_tokens'],
    ] as const) {
      const agentId = await client.createAgent(lamp({ sampling, ...params }));
      const { calls, warnings } = await client.sendMessage(agentId, 'porch');
      expect({ calls, warnings }).toEqual({
        calls: [],
        warnings: expect.arrayContaining([expect.stringContaining(limit)]) as unknown,
      });
    }
  });

  it('can become strict, or be required to call a tool, between turns', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(lamp());
    expect((await client.sendMessage(agentId, 'portal')).calls).toMatchObject([
      { toolName: 'open_portal', known: false },
    ]);
    for (const changes of [{ strict: true }, { tool_choice: 'required' }, { tool_choice: 'set_light' }]) {
      await client.request('changeParams', { agentId, nodeName: 'detect', paramsJson: JSON.stringify(changes) });
      expect((await client.sendMessage(agentId, 'portal')).calls).toEqual([]);
    }
  });

  it.each([
    [
      'a parameter of a list',
      lamp({ strict: true, tools: [setLight, dim] }),
      'detect.params.tools[1].parameters[1].items.pattern is "pattern", which a grammar cannot express; the tool "dim" cannot be strict with it',
    ],
    [
      'a JSON Schema',
      lamp({ tool_choice: 'required', tools: [setLight, paint] }),
      'detect.params.tools[1].parameters.$defs.colour.pattern is "pattern", which a grammar cannot express; the tool "paint"',
    ],
    [
      'a format without a grammar',
      lamp({ strict: true, tool_call_format: 'loose' }),
      'detect.params.strict needs a tool-call format with a grammar, and loose has none',
    ],
    [
      'a format without a grammar, where a tool has to be called',
      lamp({ tool_choice: 'set_light', tool_call_format: 'loose' }),
      'detect.params.tool_choice needs a tool-call format with a grammar',
    ],
    [
      'a misspelt choice',
      lamp({ tool_choice: 'requierd' }),
      'detect.params.tool_choice must be auto, required, none or the name of one of the tools, not "requierd"; did you mean "required"?',
    ],
    [
      'the schema of an answer',
      chat({ response_schema: { type: 'object', properties: { code: { type: 'string', pattern: 'x' } } } }),
      'answer.params.response_schema.properties.code.pattern is "pattern", which a grammar cannot express',
    ],
    [
      'an answer with thousands of long values',
      chat({
        response_schema: { type: 'object', properties: { x: { enum: range(4000).map((index) => `value ${index}`) } } },
      }),
      'answer.params.response_schema.properties.x.enum makes the grammar larger than 65536 characters',
    ],
    [
      'a tool with thousands of parameters',
      lamp({ strict: true, tools: [setLight, { name: 'set', description: 'Set.', parameters: switches(1500) }] }),
      'detect.params.tools[1].parameters has more than 1024 alternatives in one place',
    ],
    [
      'several large tools',
      lamp({
        tool_choice: 'required',
        tools: range(9).map((index) => ({ name: `set${index}`, description: 'Set.', parameters: switches(500) })),
      }),
      'detect.params.tools[6].parameters together with the tools before it makes the grammar larger than 65536 characters',
    ],
  ])('is rejected when a grammar cannot express %s', async (_, graph, message) => {
    await using client = await connect();
    const answer = await client.request('createAgent', { graphJson: JSON.stringify(graph) });
    expect(errorOf(answer)).toMatchObject({ code: 3003, message: expect.stringContaining(message) as unknown });
  });

  it('may have tools that no grammar can express while it is not strict or must call another', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(lamp({ tools: [setLight, dim], tool_choice: 'set_light' }));
    const change = (params: object): Promise<unknown> =>
      client.request('changeParams', { agentId, nodeName: 'detect', paramsJson: JSON.stringify(params) });
    expect(await change({ tool_choice: 'auto' })).toMatchObject({ body: 'ack' });
    for (const params of [{ strict: true }, { tool_choice: 'dim' }]) {
      expect(await change(params)).toMatchObject({
        error: { code: 3007, message: expect.stringContaining('.items.pattern is "pattern"') as unknown },
      });
    }
    expect((await client.sendMessage(agentId, 'porch')).calls).toMatchObject([{ toolName: 'set_light' }]);
  });
});
