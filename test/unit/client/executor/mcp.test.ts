import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import { readTools } from '../../../../src/client/executor/defineTool.ts';
import { outcomeOf } from '../../../../src/client/executor/toolOutcome.ts';
import { executor, type FromMcpOptions, type McpClient, type McpTool } from '../../../../src/client/index.ts';
import { readTool } from '../../../../src/chat/tools/declaration/readTool.ts';
import { factSchemas } from '../../../../src/chat/tools/declaration/toolSchema.ts';

const object = { type: 'object' };
const tool = (more: Partial<McpTool> = {}): McpTool => ({
  name: 'add',
  description: 'Add.',
  inputSchema: object,
  ...more,
});
const propertyOf = (schema: object): McpTool =>
  tool({
    inputSchema: { type: 'object', properties: { a: schema }, $defs: { loop: { items: { $ref: '#/$defs/loop' } } } },
  });

const clientOf = (tools: readonly McpTool[], result: object = { content: [] }) => ({
  listTools: vi.fn<McpClient['listTools']>(async () => ({ tools })),
  callTool: vi.fn<McpClient['callTool']>(async () => result),
});
const idle = { signal: new AbortController().signal };

describe('executor.fromMcp', () => {
  it('declares the tools of all pages', async () => {
    const client = clientOf([]);
    client.listTools.mockImplementation(async ({ cursor } = {}) =>
      cursor === 'p2' ? { tools: [tool({ name: 'b' })] } : { tools: [tool()], nextCursor: 'p2' },
    );
    const { declarations, tools } = await executor.fromMcp(client, { timeoutMs: 500 });
    expect(declarations.map(({ name }) => name)).toEqual(['add', 'b']);
    expect(Object.keys(tools)).toEqual(['add', 'b']);
    expect(client.listTools.mock.calls.map(([, options]) => options)).toEqual([{ timeout: 500 }, { timeout: 500 }]);
  });

  it('puts what a schema refers to in its place, and says what can destroy something', async () => {
    const inputSchema = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: { source: { $ref: '#/$defs/city', description: 'From where.' }, to: { $ref: '#/$defs/city' } },
      required: ['to'],
      $defs: { city: { type: 'string', description: 'A city.' } },
    };
    const annotations = { destructiveHint: true };
    const { declarations } = await executor.fromMcp(clientOf([tool({ inputSchema, annotations })]));
    const parameters = {
      type: 'object',
      properties: {
        source: { type: 'string', description: 'From where.' },
        to: { type: 'string', description: 'A city.' },
      },
      required: ['to'],
    };
    expect(declarations).toEqual([{ name: 'add', description: 'Add.', parameters, consequential: true }]);
    expect(declarations.map((declaration) => readTool(declaration))).toMatchObject([{ ok: true }]);
  });

  it.each<[string, readonly McpTool[], FromMcpOptions, string]>([
    [
      'a name that no call can have',
      [tool({ name: '9 lives' })],
      {},
      'fromMcp.9 lives: the name "9 lives" must be a letter',
    ],
    ['a name that is too long with its prefix', [tool()], { prefix: 'p'.repeat(62) }, 'must be a letter or _'],
    ['two tools of one name', [tool(), tool()], {}, 'fromMcp.add: there are two tools "add"; give a `prefix`'],
    ['a name that is taken', [tool()], { taken: ['x_add'], prefix: 'x_' }, 'there are two tools "x_add"'],
    [
      'a tool that the server lacks',
      [tool()],
      { only: ['addd'] },
      'fromMcp.only[0] is no tool: "addd"; did you mean "add"?',
    ],
    [
      'a tool that runs as a task',
      [tool({ execution: { taskSupport: 'required' } })],
      {},
      'fromMcp.add runs as a task only',
    ],
    [
      'a schema of no object',
      [tool({ inputSchema: { type: 'array' } })],
      {},
      'fromMcp.add.inputSchema.type must be "object"',
    ],
    [
      'an unknown type',
      [propertyOf({ type: 'int' })],
      {},
      'fromMcp.add.inputSchema.properties.a.type must be of string,',
    ],
    [
      'a reference to another document',
      [propertyOf({ $ref: 'https://x.example/a' })],
      {},
      '.properties.a refers to "https://x.example/a"; only',
    ],
    [
      'a reference to nothing',
      [propertyOf({ $ref: '#/$defs/b' })],
      {},
      '.properties.a refers to "#/$defs/b", which it does not have',
    ],
    [
      'a recursive schema',
      [propertyOf({ $ref: '#/$defs/loop' })],
      {},
      'refers to "#/$defs/loop", which contains itself',
    ],
    ['a schema that contains the whole', [propertyOf({ $ref: '#' })], {}, 'refers to "#", which contains itself'],
    ['a dynamic reference', [propertyOf({ items: { $dynamicRef: '#x' } })], {}, '.properties.a.items has $dynamicRef'],
    [
      'a fact of turngraph',
      [propertyOf({ anyOf: [{ enum_from: 'x' }] })],
      {},
      '.properties.a.anyOf[0] has the keyword "enum_from"',
    ],
    [
      'properties that are no object',
      [tool({ inputSchema: { type: 'object', properties: [] } })],
      {},
      '.properties must be an object',
    ],
    ['examples that are no list', [propertyOf({ examples: 'x' })], {}, '.properties.a.examples must be a list'],
    ['a misspelt option', [tool()], { onyl: [] } as object, 'fromMcp.onyl is not known here; did you mean "only"?'],
  ])('refuses %s', async (_, tools, options, message) => {
    await expect(executor.fromMcp(clientOf(tools), options)).rejects.toMatchObject({
      name: 'MALFORMED_MESSAGE',
      message: expect.stringContaining(message) as unknown,
    });
  });

  it('follows a reference into a list', async () => {
    const { declarations } = await executor.fromMcp(
      clientOf([
        tool({
          inputSchema: {
            ...object,
            properties: { a: { anyOf: [{ const: 1 }] }, b: { $ref: '#/properties/a/anyOf/0' } },
          },
        }),
      ]),
    );
    expect(declarations[0]?.parameters).toMatchObject({ properties: { b: { const: 1 } } });
  });

  it.each(Object.keys(factSchemas).filter((name) => name !== 'examples'))('refuses the keyword %s', async (name) => {
    const refused = executor.fromMcp(clientOf([propertyOf({ [name]: 'x' })]));
    await expect(refused).rejects.toThrow(`.properties.a has the keyword "${name}"`);
  });

  it('refuses what is no client, and a list without an end', async () => {
    await expect(executor.fromMcp({} as McpClient)).rejects.toThrow('fromMcp.client must be a connected MCP client');
    const endless = clientOf([]);
    endless.listTools.mockResolvedValue({ tools: [], nextCursor: 'again' });
    await expect(executor.fromMcp(endless)).rejects.toThrow('the page "again" twice');
    let page = 0;
    endless.listTools.mockImplementation(async () => ({ tools: [], nextCursor: `${page++}` }));
    await expect(executor.fromMcp(endless)).rejects.toThrow('more than 256 pages');
  });

  it.each<[string, object, boolean, string]>([
    [
      'texts, joined',
      {
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
      true,
      'a\nb',
    ],
    ['no content', { content: [] }, true, 'ok'],
    ['structured content', { content: [], structuredContent: { n: 1 } }, true, '{"n":1}'],
    ['both', { content: [{ type: 'text', text: 'one' }], structuredContent: { n: 1 } }, true, 'one\n{"n":1}'],
    [
      'the same twice',
      { content: [{ type: 'text', text: '{ "n": 1 }' }], structuredContent: { n: 1 } },
      true,
      '{ "n": 1 }',
    ],
    ['an error', { content: [{ type: 'text', text: 'no' }], isError: true }, false, 'no'],
    ['an error without a text', { content: [], isError: true }, false, 'the tool failed'],
    [
      'an image',
      { content: [{ type: 'image', data: 'aGk=', mimeType: 'image/png' }] },
      true,
      '[image image/png, 2 bytes]',
    ],
    [
      'a sound',
      { content: [{ type: 'audio', data: 'aGkh', mimeType: 'audio/wav' }] },
      true,
      '[audio audio/wav, 3 bytes]',
    ],
    [
      'a link',
      { content: [{ type: 'resource_link', name: 'log', uri: 'file:///log', mimeType: 'text/plain' }] },
      true,
      '[resource log, file:///log, text/plain]',
    ],
    [
      'a text resource',
      { content: [{ type: 'resource', resource: { uri: 'a:b', text: 'hi' } }] },
      true,
      '[resource a:b]\nhi',
    ],
    [
      'a binary resource',
      { content: [{ type: 'resource', resource: { uri: 'a:b', blob: 'aGk=' } }] },
      true,
      '[resource a:b, 2 bytes]',
    ],
    ['a part of a later version', { content: [{ type: 'hologram' }] }, true, '[hologram]'],
    ['a result of the first version', { toolResult: { n: 1 } }, true, '{"n":1}'],
  ])('gives %s to the model', async (_, result, ok, content) => {
    const { tools } = await executor.fromMcp(clientOf([tool()], result));
    expect(outcomeOf(await tools['add']?.run({}, idle), 'add', 'TURN')).toMatchObject({ ok, content });
  });

  it('calls a tool by its own name, with the arguments, the signal and the time-out', async () => {
    const client = clientOf([tool()]);
    const { tools } = await executor.fromMcp(client, { prefix: 'x_', timeoutMs: 9, lifespan: 'DIALOG' });
    await readTools(tools)
      .get('x_add')
      ?.run({ a: 1 }, idle as never);
    expect(client.callTool.mock.calls).toEqual([
      [{ name: 'add', arguments: { a: 1 } }, undefined, { timeout: 9, ...idle }],
    ]);
    expect(readTools(tools).get('x_add')?.lifespan).toBe('DIALOG');
    const given: unknown[] = [];
    const second = { ...client, callTool: async (one: object, two: object) => (given.push(one, two), { content: [] }) };
    await (await executor.fromMcp(second as unknown as McpClient)).tools['add']?.run({}, idle);
    expect(given).toEqual([{ name: 'add', arguments: {} }, idle]);
  });

  it('types the names', async () => {
    const { tools, declarations } = await executor.fromMcp(clientOf([tool()]), { only: ['add'], prefix: 'x_' });
    expectTypeOf<keyof typeof tools>().toEqualTypeOf<'x_add'>();
    expectTypeOf((declarations[0] ?? { name: 'x_add' }).name).toEqualTypeOf<'x_add'>();
    executor({ ...tools, own: { run: () => 1 } });
  });
});

describe('a call of the official MCP client', () => {
  /** A client of a server whose tool never ends, and the signals of its calls. */
  async function connectHanging() {
    const signals: AbortSignal[] = [];
    const server = new Server({ name: 's', version: '1' }, { capabilities: { tools: {} } });
    server.setRequestHandler(ListToolsRequestSchema, () => ({
      tools: [{ name: 'hang', inputSchema: { type: 'object' } }],
    }));
    server.setRequestHandler(CallToolRequestSchema, (_, { signal }) => (signals.push(signal), new Promise(() => {})));
    const client = new Client({ name: 'c', version: '1' });
    const [near, far] = InMemoryTransport.createLinkedPair();
    await Promise.all([server.connect(far), client.connect(near)]);
    return { client, signals };
  }

  it('is cancelled on the server when the turn is aborted', async () => {
    const { client, signals } = await connectHanging();
    const { tools } = await executor.fromMcp(client);
    const turn = new AbortController();
    const call = tools['hang']?.run({}, turn);
    await vi.waitFor(() => expect(signals).toHaveLength(1), 60_000);
    turn.abort(new Error('cancelled'));
    await expect(call).rejects.toThrow('cancelled');
    await vi.waitFor(() => expect(signals[0]?.aborted).toBe(true), 60_000);
  });

  it('fails when it takes longer than its time-out', async () => {
    const { client } = await connectHanging();
    const { tools } = await executor.fromMcp(client, { timeoutMs: 20 });
    await expect(tools['hang']?.run({}, idle)).rejects.toThrow('Request timed out');
  });
});
