// Whether every slot of a server is still to be had.
import { within } from './timeouts.mjs';

/** Lets as many agents as there are slots write a long answer at once; gives how many of them wrote at the same time. */
export async function speakingAtOnce(server, slots, model) {
  const client = await server.connect('proto');
  const agents = await Promise.all(
    Array.from({ length: slots }, () => client.createAgent({ graph: longWinded(model) })),
  );
  const spans = await Promise.all(
    agents.map(async (agent) => {
      const turn = agent.send('Tell me a story.');
      const first = (async () => {
        for await (const _ of turn.text) return performance.now();
        return Infinity;
      })();
      await within(60, 'a long answer', turn.done);
      return { first: await first, end: performance.now() };
    }),
  );
  await client.close();
  const firstEnd = Math.min(...spans.map(({ end }) => end));
  return spans.filter(({ first }) => first < firstEnd).length;
}

// A model that is brief by nature is held to it by a schema.
const longWinded = (model) => ({
  default_model_name: model,
  start_node: 'answer',
  nodes: {
    answer: {
      type: 'Generate',
      params: { sampling: { temperature: 0, max_tokens: 200 }, response_schema: { type: 'string', minLength: 256 } },
    },
  },
});
