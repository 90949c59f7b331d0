// node scripts/evals/intents.mjs [OPTIONS]: sends 200 phrasings of 40 intents, and 50 messages about something else, through a
// Route node with five examples for each intent (test/fixtures/intents.txt), and prints how many took the right exit.
//   --embedding NAME  match `vectors` with this embedding model; without it match `model`
//   --threshold N --margin N    of the Route; default 0
//   --model NAME --catalogue FILE --threads N    as in `npm run eval:tools`
//   --verbose         each message that took a wrong exit
import { readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { readArguments } from '../options.mjs';
import { serverOptions, withClient } from './evalServer.mjs';

/**
 * The intents with their examples and other phrasings, and messages without an intent.
 * @returns {Promise<{ readonly labels: readonly { readonly name: string, readonly examples: readonly string[] }[],
 *   readonly messages: readonly { readonly text: string, readonly label: string }[] }>} `label`: "" = none.
 */
export async function readIntents() {
  const text = await readFile(new URL('../../test/fixtures/intents.txt', import.meta.url), 'utf8');
  const lists = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const labels = [];
  const messages = [];
  for (const line of lists) {
    const [, name, list = line] = /^(\w+): (.*)$/.exec(line) ?? [];
    const texts = list.split('|').map((one) => one.trim());
    if (name !== undefined) labels.push({ name, examples: texts });
    else messages.push(...texts.map((one) => ({ text: one, label: labels.at(-1)?.name ?? '' })));
  }
  const rest = labels.pop();
  return {
    labels,
    messages: [
      ...messages.map(({ text: one, label }) => ({ text: one, label: label === rest.name ? '' : label })),
      ...rest.examples.map((one) => ({ text: one, label: '' })),
    ],
  };
}

/**
 * Sends messages through a Route.
 * @param {import('../../src/client/index.ts').Client} client
 * @param {object} params of the Route, without its labels.
 * @param {(line: string) => void} [report] gets each message that took a wrong exit.
 * @param {readonly { readonly text: string, readonly label: string }[]} [sent] the messages, if not all.
 * @returns {Promise<{ readonly right: number, readonly wrong: number, readonly unrelated: number, readonly medianMs: number,
 *   readonly routes: readonly { readonly text: string, readonly label: string, readonly exit: string, readonly similarity: number }[] }>}
 *   phrasings that took the right exit, and that of another intent; messages about something else that took the exit of an
 *   intent; milliseconds of a turn; what became of each, with its similarity where that decides.
 */
export async function measureIntents(client, params, report = () => undefined, sent = undefined) {
  const { labels, messages } = await readIntents();
  const graph = { start_node: 'route', nodes: { route: { type: 'Route', params: { labels, ...params } } } };
  const agent = await client.createAgent({ graph });
  await agent.send('Hello.');
  const counts = { right: 0, wrong: 0, unrelated: 0 };
  const times = [];
  const routes = [];
  for (const { text, label } of sent ?? messages) {
    await agent.clearDialog();
    const began = performance.now();
    const { path, events } = await agent.send(text);
    times.push(performance.now() - began);
    const exit = path[0]?.exit ?? '';
    routes.push({ text, label, exit, similarity: events[0]?.payload.similarity ?? NaN });
    const isChosen = exit !== 'no_match' && exit !== 'not_matched';
    if (isChosen) counts[label === '' ? 'unrelated' : exit === label ? 'right' : 'wrong']++;
    if (isChosen ? exit !== label : label !== '') report(`${label || '(none)'} -> ${exit}: ${text}`);
  }
  await agent.destroy();
  return { ...counts, medianMs: times.toSorted((a, b) => a - b)[times.length >> 1] ?? NaN, routes };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { values: options } = readArguments({
    options: {
      ...serverOptions,
      embedding: { type: 'string' },
      threshold: { type: 'string', default: '0' },
      margin: { type: 'string', default: '0' },
      verbose: { type: 'boolean', default: false },
    },
  });
  const bounds = { threshold: Number(options.threshold) };
  const params =
    options.embedding === undefined
      ? { ...bounds, model_name: options.model }
      : { ...bounds, match: 'vectors', embedding_model: options.embedding, margin: Number(options.margin) };
  await withClient({ ...options, model: options.embedding ?? options.model }, async (client) => {
    const { routes: _, ...figures } = await measureIntents(client, params, options.verbose ? console.error : undefined);
    console.log(JSON.stringify({ ...params, ...figures }));
  });
}
