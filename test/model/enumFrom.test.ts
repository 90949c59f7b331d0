import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { familyGguf } from '../../scripts/gguf/families.mjs';
import { TestClient, useServer } from '../helpers/server.ts';

const count = 20;
const family = 'Qwen2.5 Instruct';
let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  await writeFile(join(folder, 'random.gguf'), familyGguf(family));
  const variant = { engine: 'llama-cpp', local_path: '.', context_size: 2048, files: ['random.gguf'] };
  await writeFile(join(folder, 'models.json'), JSON.stringify({ models: [{ name: 'random', variants: [variant] }] }));
});
afterAll(() => rm(folder, { recursive: true }));

const server = useServer({
  get catalogue() {
    return join(folder, 'models.json');
  },
});

const item = { type: 'string', enum_from: 'inventory' };
const graph = {
  default_model_name: 'random',
  start_node: 'detect',
  nodes: {
    detect: {
      type: 'ToolCall',
      params: {
        strict: true,
        tool_choice: 'required',
        sampling: { temperature: 1.5, top_p: 1, top_k: 0 },
        tools: [
          { name: 'give', description: 'Give an item.', parameters: [{ name: 'item', ...item }] },
          {
            name: 'trade',
            description: 'Trade items.',
            parameters: {
              type: 'object',
              properties: {
                items: {
                  type: 'array',
                  items: {
                    type: 'object',
                    properties: { item, count: { type: 'integer', enum_from: 'counts' } },
                    required: ['item'],
                  },
                  minItems: 1,
                  maxItems: 3,
                },
              },
              required: ['items'],
            },
          },
        ],
      },
      exits: { no_tool_called: 'none' },
    },
    none: { type: 'CannedResponse', params: { inline_strings: ['Nothing.'] } },
  },
};

const words = [
  'rope',
  'ropes',
  'rope ladder',
  'lamp',
  'a "crown"',
  'b\\c',
  'Schlüssel',
  '鍵',
  '🔦',
  'no\nline',
  'ro',
  '',
];

/** The stock of a turn: other items and counts each time, and the same again later. */
const stockOf = (turn: number) => ({
  inventory: words.filter((_, index) => (((turn % 23) + 1) * (index + 3)) % 5 < 2),
  counts: [turn % 7, (turn % 7) + 10],
});

interface Given {
  readonly item: string;
  readonly count?: number;
}

describe('a model with random weights, asked by a strict node', () => {
  it(`names only items of the inventory of the turn in ${count} calls`, async () => {
    await using client = await TestClient.connect(server().url, 'turngraph.v1.proto', 'llama-cpp');
    const agentId = await client.createAgent(graph);
    const wrong: string[] = [];
    const named = new Set<string>();
    const tools = new Set<string>();
    let calls = 0;
    for (let turn = 0; calls < count && turn < 2 * count; turn++) {
      const { inventory, counts } = stockOf(turn);
      const variables = { inventory: JSON.stringify(inventory), counts: JSON.stringify(counts) };
      await client.request('clearDialog', { agentId });
      const result = await client.sendMessage(agentId, `Give me ${words[turn % words.length]}!`, variables);
      for (const { toolName, typedArgumentsJson, issues } of result.calls) {
        calls++;
        tools.add(toolName);
        const args = JSON.parse(typedArgumentsJson) as Given | { readonly items: readonly Given[] };
        for (const given of 'items' in args ? args.items : [args]) {
          named.add(given.item);
          const isKnown = inventory.includes(given.item) && (given.count === undefined || counts.includes(given.count));
          if (!isKnown || issues.length > 0)
            wrong.push(`turn ${turn}: ${typedArgumentsJson} of ${variables.inventory}`);
        }
      }
    }
    expect({ calls, wrong, tools: [...tools].toSorted() }).toEqual({
      calls: count,
      wrong: [],
      tools: ['give', 'trade'],
    });
    // Else a test that always gives the first item would pass.
    expect(named.size).toBeGreaterThan(words.length / 2);
  });
});
