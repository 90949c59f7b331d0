import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pngWithText } from '../helpers/pngWithText.ts';
import { subprotocols, TestClient, useServer } from '../helpers/server.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-lore-'));
  const entries = [
    { id: 1, keys: ['harbour'], content: 'It freezes in January.', extensions: { scan_depth: 2 } },
    { id: 2, keys: ['/\\babbe(y|ies)\\b/i'], secondary_keys: ['beer'], content: 'Monks brew it.', selective: true },
    { id: 3, keys: [], content: 'The town is walled.', constant: true, position: 'after_char' },
    { id: 4, keys: ['gate'], content: 'Closed.', probability: 0 },
  ];
  const card = { spec: 'chara_card_v3', data: { name: 'Mira', character_book: { entries } } };
  const text = Buffer.from(JSON.stringify(card)).toString('base64');
  await writeFile(join(folder, 'keyless.kb.json'), JSON.stringify({ entries: [{ content: 'It freezes.' }] }));
  await writeFile(join(folder, 'mira.png'), pngWithText(['ccv3', text]));
});
afterAll(() => rm(folder, { recursive: true }));

const server = useServer({
  script: [{ match: '', answer: 'I see.' }],
  get storageRoot() {
    return folder;
  },
});

const line = (text: string) => ({ type: 'CannedResponse', params: { inline_strings: [text] } });
const graph = {
  start_node: 'find',
  nodes: {
    find: {
      type: 'Retrieve',
      params: { string_storage: 'mira.png', source: 'lore' },
      exits: { found: 'found', not_found: 'nothing' },
    },
    found: line('found: {{#knowledge_lore}}{{id}} {{/knowledge_lore}}'),
    nothing: line('nothing: {{#knowledge_lore}}{{id}} {{/knowledge_lore}}'),
  },
};

describe.each(subprotocols)('over %s, a graph with the book of a character card', (subprotocol) => {
  it('finds its entries as the card says, and is warned of what is not used', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const made = await client.request('createAgent', { graphJson: JSON.stringify(graph) });
    if (made.body !== 'createAgent') throw new Error(JSON.stringify(made));
    const { agentId, warnings } = made.createAgent;
    expect(warnings).toEqual([
      expect.stringMatching(
        /^find\.params\.string_storage: mira\.png, 1:\d+: data\.character_book\.entries\[2\]\.position is not used \(1 entry\)$/,
      ),
    ]);
    const answers: string[] = [];
    for (const text of [
      'Is the harbour open?',
      'Really?',
      'And now?',
      'An ABBEY?',
      'The abbey and its beer.',
      'The gate!',
    ])
      answers.push((await client.sendMessage(agentId, text)).text);
    expect(answers).toEqual(['found: 1 3 ', 'found: 1 3 ', 'nothing: 3 ', 'nothing: 3 ', 'found: 2 3 ', 'nothing: 3 ']);
  });

  it('is warned of a book that words never find anything in', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const made = await client.request('createAgent', {
      graphJson: JSON.stringify(graph).replace('mira.png', 'keyless.kb.json'),
    });
    if (made.body !== 'createAgent') throw new Error(JSON.stringify(made));
    expect(made.createAgent.warnings).toContain(
      'find.params.string_storage has no entry to find: this Retrieve never finds one',
    );
  });
});
