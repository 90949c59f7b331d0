// start: time from the spawn of `serve` to its listening line, and to the first piece of the first answer (model demo).
//
// The second result includes connecting, creating an agent, loading the model, prefill and one token. Its `bareMs` is the time
// of the baseline process from its spawn to its first token: library, model, context, prefill.
import { createResult, measureInterleaved, medianOf } from '../results.mjs';
import { timeTurn, generateGraph } from '../client.mjs';
import { chatmlPrompt } from '../prompts.mjs';

const message = 'Hello!';

export const start = {
  name: 'start',
  async run(bench) {
    const file = await bench.file('demo');
    const sides = {
      server: () => measureServer(bench, file),
      baseline: () => measureBaseline(bench, file),
    };
    const { server, baseline } = await measureInterleaved(sides, bench.repeats(9, 3));
    const [listening, first] = [medianOf(server, (one) => one.listening), medianOf(server, (one) => one.first)];
    const bareMs = medianOf(baseline, (one) => one.first);
    const reported = { name: 'start', unit: 'ms', goal: null, better: 'lower' };
    return [
      createResult({ ...reported, of: 'listening', ratio: listening }),
      createResult({ ...reported, of: 'first token, demo', ratio: first, bareMs }),
    ];
  },
};

async function measureServer(bench, file) {
  const server = await bench.server({ file });
  const client = await bench.client(server);
  const agent = await client.createAgent({ graph: generateGraph(8) });
  const sent = performance.now();
  const { first } = await timeTurn(agent, message);
  await bench.close();
  return { listening: server.listeningMs, first: sent + first - server.start };
}

async function measureBaseline(bench, file) {
  const start = performance.now();
  const baseline = await bench.baseline({ file, sequences: 4 });
  const sent = performance.now();
  const { first } = await baseline.run('stream', { prompt: chatmlPrompt('', message), maxTokens: 8 });
  await bench.close();
  return { first: sent + first - start };
}
