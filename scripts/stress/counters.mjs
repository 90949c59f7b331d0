// Server counters: reads /metrics and the list of models, to find resources that were not released.
import { pollUntil } from './timeouts.mjs';

/** Parses a page in the Prometheus text format into sums over all labels, by metric name. */
function parseMetrics(page) {
  const sums = new Map();
  for (const line of page.split('\n')) {
    const [, name, value] = /^([A-Za-z_:][\w:]*)(?:\{.*\})?\s+(\S+)/.exec(line) ?? [];
    if (name !== undefined) sums.set(name, (sums.get(name) ?? 0) + Number(value));
  }
  return sums;
}

/** Gauges of current activity; they are 0 when no client is connected. */
const activityGauge =
  /^turngraph_(\w+_)?(sessions|connections|agents|sequences|slots_busy|waiting|running|in_flight|uses)(_open|_active)?$/;

/** What a server still counts after all clients have disconnected, one sentence each; waits up to 10 s for it to be nothing. */
export async function findLeftovers(server, model) {
  let left = [];
  await pollUntil(10, async () => {
    left = await nonZeroGauges(server);
    // The client that asks for the models has a session, which is detached when it leaves: it asks only at the end.
    if (left.length === 0) left = await modelUses(server, model);
    return left.length === 0;
  });
  return left;
}

async function nonZeroGauges(server) {
  const page = await server.metrics();
  if (page === undefined) return [];
  const nonZero = [...parseMetrics(page)].filter(([name, value]) => activityGauge.test(name) && value !== 0);
  return nonZero.map(([name, value]) => `${name} is ${value}`);
}

async function modelUses(server, model) {
  const client = await server.connect('json');
  try {
    const info = (await client.listModels()).find(({ name }) => name === model);
    return info?.agents ? [`the model is in use by ${info.agents} agents`] : [];
  } finally {
    await client.close();
  }
}
