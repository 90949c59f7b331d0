// node scripts/evals/memory.mjs [OPTIONS]: tells a model the 20 facts of test/fixtures/toldFacts.txt over three sessions of
// 100 turns in all, and prints how many of them the node Remember keeps so that a search with other words finds them, as the
// first hit or one of three, and what it keeps of the turns in which nothing was told.
//   --model NAME --catalogue FILE --threads N    as in `npm run eval:tools`
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readArguments } from '../options.mjs';
import { serverOptions, withAgent, withClient } from './evalServer.mjs';

const smallTalk = ['Nice weather!', 'Good morning.', 'What do you sell?', 'Thank you.'];
const sessions = 3;
const answer = { type: 'CannedResponse', params: { inline_strings: ['I see.'] }, exits: { default: 'memory' } };
// With this priority the turns wait for the memory, and have its events.
const memory = { type: 'Remember', params: { string_storage: 'memories', priority: 'NORMAL' } };
const graph = { start_node: 'answer', nodes: { answer, memory } };

const lines = await readFile(new URL('../../test/fixtures/toldFacts.txt', import.meta.url), 'utf8');
const told = lines.split('\n').flatMap((line) => {
  const [message, , question] = line.split(' | ');
  return question ? [{ message, question }] : [];
});
const { values: options } = readArguments({ options: serverOptions });
const folder = await mkdtemp(join(tmpdir(), 'turngraph-memory-'));
const open = async (use) => {
  if (process.exitCode) return;
  await withClient({ ...options, memory: folder }, async (client) => {
    await client.request('configureSession', { memoryKey: 'eval' });
    await client.request('createStringStorage', { name: 'memories', kind: 'KNOWLEDGE', persist: true });
    await use(client);
  });
};

/** Sends a message; returns what is remembered of it, and prints it. */
async function say(agent, message) {
  const { events } = await agent.send(message);
  const kept = events.flatMap(({ eventType, payload }) => (eventType === 'remembered' ? [payload] : []));
  for (const { texts } of kept) console.log(`${message}: ${texts.join(' ')}`);
  return kept.flatMap(({ ids }) => ids);
}

const perSession = Math.ceil(told.length / sessions);
const unrelated = [];
for (let session = 0; session < sessions; session++) {
  await open((client) =>
    withAgent(client, { model: options.model, graph }, async (agent) => {
      for (const fact of told.slice(session * perSession, (session + 1) * perSession)) {
        fact.ids = await say(agent, fact.message);
        for (const text of smallTalk) unrelated.push(...(await say(agent, text)));
      }
    }),
  );
}
const counts = { facts: told.length, kept: 0, first: 0, amongThree: 0, ofUnrelatedTurns: unrelated.length };
await open(async (client) => {
  for (const { question, ids } of told) {
    const { hits } = await client.searchStorage({ name: 'memories', query: question, topK: 3 });
    counts.kept += Number(ids.length > 0);
    counts.first += Number(ids.includes(hits[0]?.id));
    counts.amongThree += Number(hits.some(({ id }) => ids.includes(id)));
  }
  console.log(JSON.stringify(counts));
});
await rm(folder, { recursive: true });
