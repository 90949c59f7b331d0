// slots: time to first token of the second turns of 200 agents on 4 slots / of 4 agents on 4 slots (model mid).
//
// Every agent has its own system message of about 300 tokens, so no two share a prefix. They send one after the other, all of
// them once, then all of them again; the reference server's four agents are created, send twice and are destroyed between
// fifths of these second turns. Times are the client's, from sending to the first piece. On 2 cores the first turns take about
// a second each, so the case takes 5 to 10 minutes, and 2 with --quick (40 agents). Memory is the resident memory of the
// server process without the mapped model file, after the last turn minus after the fourth agent's first.
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { timeTurn, generateGraph } from '../client.mjs';
import { createResult, median, quantile } from '../results.mjs';
import { story } from '../prompts.mjs';
import { readMemoryBytes, readServeFlags } from '../server.mjs';

const slotCount = 4;
const contextSize = 1024;
// The KV states of 200 such agents take 1.7 GB.
const limitMegabytes = 2048;
const maxTokens = 4;

export const slots = {
  name: 'slots',
  async run(bench) {
    const file = await bench.file('mid');
    const options = { file, contextSize, flags: { slots: slotCount, 'cache-limit': limitMegabytes } };
    const [server, reference] = [await bench.server(options), await bench.server(options)];
    const [client, referenceClient] = [await bench.client(server), await bench.client(reference)];
    const agents = await createCharacters(client, bench.repeats(200, 40), 0);
    bench.log(`first turns of ${agents.length} agents`);
    const firstTimes = [];
    let before;
    for (const [at, agent] of agents.entries()) {
      firstTimes.push(await timeFirstToken(agent, 1));
      if (at === slotCount - 1) before = await readMemoryBytes(server.pid);
    }
    bench.log('second turns');
    const secondTimes = [];
    const referenceTimes = [];
    const parts = 5;
    for (let part = 0; part < parts; part++) {
      const few = await createCharacters(referenceClient, slotCount, 1000 + slotCount * part);
      for (const agent of few) await timeFirstToken(agent, 1);
      for (const agent of few) referenceTimes.push(await timeFirstToken(agent, 2));
      for (const agent of few) await agent.destroy();
      const [from, to] = [part, part + 1].map((number) => Math.round((number * agents.length) / parts));
      for (const agent of agents.slice(from, to)) secondTimes.push(await timeFirstToken(agent, 2));
    }
    const after = await readMemoryBytes(server.pid);
    const megabytes = (after - before) / 1e6;
    const hasCache = (await readServeFlags()).has('cache-limit');
    const onDisk = (await folderBytes(server.cache)) / 1e6;
    const of = `${agents.length} agents`;
    return [
      createResult({
        name: 'slots',
        of: `first token, ${of}`,
        ratio: median(secondTimes) / median(referenceTimes),
        goal: 3,
        better: 'lower',
        ms: median(secondTimes),
        fewMs: median(referenceTimes),
        p99Ms: quantile(secondTimes, 0.99),
        firstTurnMs: median(firstTimes),
      }),
      createResult({ name: 'slots', of: `memory, ${of}`, ratio: megabytes, unit: 'MB', goal: null, better: 'lower' }),
      createResult({
        name: 'slots',
        of: `cache folder, ${of}`,
        ratio: onDisk,
        unit: 'MB',
        goal: hasCache ? limitMegabytes : null,
        better: 'lower',
      }),
    ];
  },
};

const createCharacters = async (client, count, from) => {
  const agents = [];
  for (let at = from; at < from + count; at++) {
    agents.push(
      await client.createAgent({
        graph: generateGraph(maxTokens, { system_prompt: `You are number ${at}. ${story(91 * at, 120)}` }),
      }),
    );
  }
  return agents;
};

const timeFirstToken = async (agent, time) =>
  (await timeTurn(agent, `${story(agent.id + time, 10)} What do you say?`)).first;

async function folderBytes(folder) {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const files = await Promise.all(names.map((name) => stat(join(folder, name)).catch(() => undefined)));
  return files.reduce((sum, file) => sum + (file?.isFile() ? file.size : 0), 0);
}
