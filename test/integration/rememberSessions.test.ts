import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTestServer, subprotocols, TestClient, type TurnResult } from '../helpers/server.ts';

const told = await readFile(new URL('../fixtures/toldFacts.txt', import.meta.url), 'utf8');
/** What the user tells, the fact that the model makes of it, and a question in other words. */
const toldFacts = told.split('\n').flatMap((line) => {
  const [message, fact, question] = line.split(' | ');
  return fact && message && question ? [[message, fact, question] as const] : [];
});
const changedFacts = [
  ['My dog Bruno is eight years old now', 'The dog of the user, Bruno, is eight years old now.', 3],
  ['My house has a red door by now', 'The house of the user has a red door by now.', 16],
] as const;
const neverTold = ['Do I own a castle?', 'Which spell did I learn?', 'Is my cat hungry?'];

const answer = (...facts: readonly object[]): string => JSON.stringify({ facts });
const invented = [
  { text: 'The user owns a castle.' },
  { text: 'The user has a cat.' },
  { text: 'The user learned a spell.' },
];
const script = [
  ...toldFacts.map(([message, text]) => ({
    node: 'memory',
    match: `^${message}$`,
    answer: answer({ text }, ...invented.slice(0, 1)),
  })),
  // The model is shown the fact as the first one that is known.
  ...changedFacts.map(([message, text]) => ({
    node: 'memory',
    match: `^${message}$`,
    answer: answer({ text, replaces: 1 }),
  })),
  { node: 'memory', answer: answer(...invented) },
];

const graph = {
  start_node: 'recall',
  nodes: {
    recall: {
      type: 'Retrieve',
      params: { string_storage: 'memories', top_k: 1 },
      exits: { found: 'tell', not_found: 'shrug' },
    },
    tell: {
      type: 'CannedResponse',
      params: { inline_strings: ['{{knowledge_recall.0.text}}'] },
      exits: { default: 'memory' },
    },
    shrug: { type: 'CannedResponse', params: { inline_strings: ['Well.'] }, exits: { default: 'memory' } },
    memory: { type: 'Remember', params: { string_storage: 'memories' } },
  },
};

let memory = '';
beforeEach(async () => void (memory = await mkdtemp(join(tmpdir(), 'turngraph-'))));
afterEach(() => rm(memory, { recursive: true }));

describe.each(subprotocols)('over %s, a character that remembers', (subprotocol) => {
  it('knows in the third session each of twenty facts, as it is by then, and nothing that was not told', async () => {
    let turns = 0;
    /** A session of a new server that has the memories of those before it. @returns what is remembered at its end. */
    const session = async (talk: (say: (text: string, events?: number) => Promise<TurnResult>) => Promise<void>) => {
      await using server = await startTestServer({ script, memory });
      await using client = new TestClient(server.url, subprotocol);
      await client.receive('sessionReady');
      await client.request('configureSession', { engine: 'mock', memoryKey: 'save 1' });
      await client.request('createStringStorage', { name: 'memories', kind: 'KNOWLEDGE', persist: true });
      const agentId = await client.createAgent(graph);
      const events = () => client.received.filter(({ requestId, body }) => requestId === 0 && body === 'nodeEvent');
      await talk(async (text, expected = 0) => {
        turns++;
        const before = events().length;
        const turn = await client.sendMessage(agentId, text);
        await client.waitFor(() => events().length >= before + expected);
        return turn;
      });
      const kept = await client.request('exportStorage', { storage: 'memories' });
      return kept.body === 'exportStorage' ? kept.exportStorage.entries.map((entry) => entry.text) : [];
    };
    const facts: string[] = [];
    for (const part of [toldFacts.slice(0, 11), toldFacts.slice(11)]) {
      const kept = await session(async (say) => {
        for (const [message] of part) {
          await say(message, 1);
          await say('Nice weather!');
        }
      });
      facts.push(...part.map(([, fact]) => fact));
      expect(kept).toEqual(facts);
    }
    const known = await session(async (say) => {
      for (const [message, , index] of changedFacts) {
        await say(toldFacts[index]?.[2] ?? '');
        await say(message, 2);
      }
      const expected = facts.map((fact, index) => changedFacts.find(([, , of]) => of === index)?.[1] ?? fact);
      const answers: string[] = [];
      for (const [, , question] of toldFacts) answers.push((await say(question)).text);
      expect(answers).toEqual(expected);
      for (const question of neverTold) expect((await say(question)).text).toBe('Well.');
      while (turns < 100) await say('Nice weather!');
    });
    expect(known).toHaveLength(20);
    expect(known.join(' ')).not.toMatch(/castle|cat\b|spell|seven|green/);
  });
});
