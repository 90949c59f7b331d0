// start: from the spawn of `serve` to its line that it listens, and to the first piece of the first answer of demo.
//
// The second figure has in it: connecting, making an agent, loading the model, the prompt and one token. Beside it the time
// that a bare process needs from its spawn to its first token: library, model, context, prompt.
import { figure, interleaved, medianOf } from '../results.mjs';
import { heard, talk } from '../client.mjs';
import { promptOf } from '../prompts.mjs';

const message = 'Hello!';

export const start = {
  name: 'start',
  async run(bench) {
    const file = await bench.file('demo');
    const sides = {
      server: () => served(bench, file),
      bare: () => alone(bench, file),
    };
    const { server, bare } = await interleaved(sides, bench.repeats(9, 3));
    const [listening, first] = [medianOf(server, (one) => one.listening), medianOf(server, (one) => one.first)];
    const bareMs = medianOf(bare, (one) => one.first);
    const reported = { name: 'start', unit: 'ms', goal: null, better: 'lower' };
    return [
      figure({ ...reported, of: 'listening', ratio: listening }),
      figure({ ...reported, of: 'first token, demo', ratio: first, bareMs }),
    ];
  },
};

async function served(bench, file) {
  const server = await bench.server({ file });
  const client = await bench.client(server);
  const agent = await client.createAgent({ graph: talk(8) });
  const sent = performance.now();
  const { first } = await heard(agent, message);
  await bench.close();
  return { listening: server.listeningMs, first: sent + first - server.start };
}

async function alone(bench, file) {
  const start = performance.now();
  const bare = await bench.bare({ file, sequences: 4 });
  const asked = performance.now();
  const { first } = await bare.ask('stream', { prompt: promptOf('', message), maxTokens: 8 });
  await bench.close();
  return { first: asked + first - start };
}
