// memory: what all processes of a server take at most, with mid and the defaults of `serve` (four slots of 8,192 tokens, the
// engine in a process of its own), and with a limit of 300 MB: the sum of their PSS (only on Linux).
//
// From the start of the server to the end of the second of two turns of two agents, sampled every 50 ms. `taken` is what
// ListModels says of weights and context, `idle` the sum before a model is loaded: Node and the library.
import { generateGraph } from '../client.mjs';
import { story } from '../prompts.mjs';
import { samplePss } from '../pss.mjs';
import { createResult } from '../results.mjs';

const megabyte = 1e6;
const limit = 300;
const words = 400;

export const memory = {
  name: 'memory',
  async run(bench) {
    const file = await bench.file('mid');
    const reported = { name: 'memory', goal: null, better: 'lower' };
    const standard = await measure(bench, file, {});
    const limited = await measure(bench, file, { 'memory-limit': limit });
    return [
      createResult({ ...reported, of: 'peak, mid', unit: 'MB', ratio: standard.peak, ...standard }),
      createResult({ ...reported, of: 'peak / weights and context, mid', ratio: standard.peak / standard.taken }),
      createResult({
        ...reported,
        of: `weights and context, mid, limit of ${limit} MB`,
        unit: 'MB',
        ratio: limited.taken,
        goal: limit,
        ...limited,
      }),
    ];
  },
};

async function measure(bench, file, flags) {
  const server = await bench.server({ file, flags: { 'engine-process': 'child', threads: undefined, ...flags } });
  const sampler = samplePss(server.pid);
  // Until the library is loaded in the process that the first model is going to have.
  await new Promise((resolve) => void setTimeout(resolve, 5000));
  const idle = await sampler.now();
  const client = await bench.client(server);
  for (const first of [9000, 9500]) {
    const agent = await client.createAgent({ graph: generateGraph(16) });
    for (const turn of [0, 1]) await agent.send(story(first + 101 * turn, words));
  }
  const peak = await sampler.stop();
  const [model] = await client.listModels();
  const { slots, contextSize, weightsBytes, contextBytes } = model;
  await bench.close();
  const taken = (weightsBytes + contextBytes) / megabyte;
  return { peak: peak / megabyte, idle: idle / megabyte, taken, slots, contextSize };
}
