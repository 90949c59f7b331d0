// slots: the time to first token of second turns of 200 agents on 4 slots / of 4 agents on 4 slots (mid).
//
// Every agent is a character of its own: a system message of about 300 tokens that no other shares, so no slot helps two.
// They speak one after the other, all of them once, then all of them again; the other server's four agents are made, speak
// twice and go between stretches of the crowd's second turns. Times are the client's, from sending to the first piece. On
// 2 cores the first turns take about a second each, so the row takes 5 to 10 minutes, and 2 with --quick (40 agents).
// Memory is what the system says the server's process holds without the file of the model, after the last turn less after
// the fourth agent's first.
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { heard, talk } from '../client.mjs';
import { figure, median, quantile } from '../results.mjs';
import { story } from '../prompts.mjs';
import { memoryOf, serveFlags } from '../server.mjs';

const slotCount = 4;
const contextSize = 1024;
// The states of 200 such agents take 1.7 GB.
const limitMegabytes = 2048;
const maxTokens = 4;

export const slots = {
  name: 'slots',
  async run(bench) {
    const file = await bench.file('mid');
    const options = { file, contextSize, flags: { slots: slotCount, 'cache-limit': limitMegabytes } };
    const [server, quiet] = [await bench.server(options), await bench.server(options)];
    const [client, quietClient] = [await bench.client(server), await bench.client(quiet)];
    const crowd = await charactersOf(client, bench.repeats(200, 40), 0);
    bench.log(`${crowd.length} agents speak for the first time`);
    const firsts = [];
    let before;
    for (const [at, agent] of crowd.entries()) {
      firsts.push(await say(agent, 1));
      if (at === slotCount - 1) before = await memoryOf(server.pid);
    }
    bench.log('and for the second time');
    const seconds = [];
    const quietSeconds = [];
    const stretches = 5;
    for (let stretch = 0; stretch < stretches; stretch++) {
      const few = await charactersOf(quietClient, slotCount, 1000 + slotCount * stretch);
      for (const agent of few) await say(agent, 1);
      for (const agent of few) quietSeconds.push(await say(agent, 2));
      for (const agent of few) await agent.destroy();
      const [from, to] = [stretch, stretch + 1].map((part) => Math.round((part * crowd.length) / stretches));
      for (const agent of crowd.slice(from, to)) seconds.push(await say(agent, 2));
    }
    const after = await memoryOf(server.pid);
    const megabytes = (after - before) / 1e6;
    const hasCache = (await serveFlags()).has('cache-limit');
    const onDisk = (await bytesIn(server.cache)) / 1e6;
    const of = `${crowd.length} agents`;
    return [
      figure({
        name: 'slots',
        of: `first token, ${of}`,
        ratio: median(seconds) / median(quietSeconds),
        goal: 3,
        better: 'lower',
        ms: median(seconds),
        fewMs: median(quietSeconds),
        p99Ms: quantile(seconds, 0.99),
        firstTurnMs: median(firsts),
      }),
      figure({ name: 'slots', of: `memory, ${of}`, ratio: megabytes, unit: 'MB', goal: null, better: 'lower' }),
      figure({
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

const charactersOf = async (client, count, from) => {
  const agents = [];
  for (let at = from; at < from + count; at++) {
    agents.push(
      await client.createAgent({
        graph: talk(maxTokens, { system_prompt: `You are number ${at}. ${story(91 * at, 120)}` }),
      }),
    );
  }
  return agents;
};

const say = async (agent, time) => (await heard(agent, `${story(agent.id + time, 10)} What do you say?`)).first;

async function bytesIn(folder) {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const files = await Promise.all(names.map((name) => stat(join(folder, name)).catch(() => undefined)));
  return files.reduce((sum, file) => sum + (file?.isFile() ? file.size : 0), 0);
}
