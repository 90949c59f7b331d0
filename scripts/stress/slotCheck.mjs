// Slot check: whether all slots of a server are still available.
import { withTimeout } from './timeouts.mjs';

/** Lets `slots` agents generate a long answer concurrently; returns how many of them generated at the same time. */
export async function countConcurrentTurns(server, slots, model) {
  const client = await server.connect('proto');
  const agents = await Promise.all(
    Array.from({ length: slots }, () => client.createAgent({ graph: longAnswerGraph(model) })),
  );
  const spans = await Promise.all(
    agents.map(async (agent) => {
      const turn = agent.send('Tell me a story.');
      const first = (async () => {
        for await (const _ of turn.text) return performance.now();
        return Infinity;
      })();
      await withTimeout(60, 'a long answer', turn.done);
      return { first: await first, end: performance.now() };
    }),
  );
  await client.close();
  const firstEnd = Math.min(...spans.map(({ end }) => end));
  return spans.filter(({ first }) => first < firstEnd).length;
}

// A schema forces long answers from a model that usually answers briefly.
const longAnswerGraph = (model) => ({
  default_model_name: model,
  start_node: 'answer',
  nodes: {
    answer: {
      type: 'Generate',
      params: { sampling: { temperature: 0, max_tokens: 200 }, response_schema: { type: 'string', minLength: 256 } },
    },
  },
});
