// What a server says of itself: /metrics where it has them, and the list of models.
import { eventually } from './timeouts.mjs';

/** The samples of a page in the text format of Prometheus: the sums over all labels, by name. */
export function samplesOf(page) {
  const sums = new Map();
  for (const line of page.split('\n')) {
    const [, name, value] = /^([A-Za-z_:][\w:]*)(?:\{.*\})?\s+(\S+)/.exec(line) ?? [];
    if (name !== undefined) sums.set(name, (sums.get(name) ?? 0) + Number(value));
  }
  return sums;
}

/** Gauges of what is going on; when everybody has gone, they are 0. */
const transient =
  /^turngraph_(\w+_)?(sessions|connections|agents|sequences|slots_busy|waiting|running|in_flight|uses)(_open|_active)?$/;

/** What a server still counts when everybody has gone, a sentence each; it may take a moment to notice that they have. */
export async function leftOver(server, model) {
  let left = [];
  await eventually(
    10,
    async () => (left = [...(await inMetrics(server)), ...(await inUse(server, model))]).length === 0,
  );
  return left;
}

async function inMetrics(server) {
  const page = await server.metrics();
  if (page === undefined) return [];
  const standing = [...samplesOf(page)].filter(([name, value]) => transient.test(name) && value !== 0);
  return standing.map(([name, value]) => `${name} is ${value}`);
}

async function inUse(server, model) {
  const client = await server.connect('json');
  try {
    const info = (await client.listModels()).find(({ name }) => name === model);
    return info?.agents ? [`the model is in use by ${info.agents} agents`] : [];
  } finally {
    await client.close();
  }
}
