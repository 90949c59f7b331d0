// node scripts/evals/route.mjs [OPTIONS]: sends 60 messages through a Route node with three labels (route/), once with match
// `model`, once with match `patterns`, and prints how many took the right exit.
//   --model NAME --catalogue FILE --threads N    as in `npm run eval:tools`
//   --limit N         only the first N messages of each label
//   --json            one JSON document instead of the table
//   --verbose         each message with its label and what came
// The probabilities in the NodeEvent `route` must sum to 1; the script fails where they do not.
import { readArguments, wholeNumber } from '../options.mjs';
import { serverOptions, withAgent, withClient } from './evalServer.mjs';
import { formatColumns, percent } from './formatColumns.mjs';
import { readJson, readJsonLines } from './readJson.mjs';

const { values: options } = readArguments({
  options: {
    ...serverOptions,
    limit: { type: 'string' },
    json: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
  },
});
const labels = await readJson(new URL('route/labels.json', import.meta.url));
const all = await readJsonLines(new URL('route/items.jsonl', import.meta.url));
const limit = wholeNumber('limit', options.limit) ?? Infinity;
const items = labels.flatMap(({ name }) => all.filter(({ label }) => label === name).slice(0, limit));
// The label for all other messages: a graph that leads `not_matched` to its exit gives it to those without a label, too.
const rest = labels.at(-1).name;
const tolerance = 1e-6;

await withClient(options, async (client) => {
  const rows = [];
  for (const match of ['model', 'patterns']) rows.push(await measure(client, match));
  const share = (label) => [
    label,
    ({ right }) => percent(right[label] / items.filter((item) => item.label === label).length),
  ];
  const columns = [
    ['match', ({ match }) => match],
    ['right', ({ accuracy }) => percent(accuracy)],
    ...labels.map(({ name }) => share(name)),
    [`${rest} as the rest`, ({ withRest }) => percent(withRest)],
    ['not matched', ({ notMatched }) => notMatched],
    [
      'sum of probabilities',
      ({ sums }) => (sums === null ? '' : `${sums.least.toFixed(6)} to ${sums.most.toFixed(6)}`),
    ],
  ];
  console.log(
    options.json
      ? JSON.stringify({ model: options.model, items: items.length, rows }, null, 2)
      : formatColumns(columns, rows, 1),
  );
  const invalid = rows.filter(({ sums }) => sums !== null && Math.max(1 - sums.least, sums.most - 1) > tolerance);
  for (const { match } of invalid) console.error(`match ${match}: the probabilities do not sum to 1`);
  if (invalid.length > 0) process.exitCode = 1;
});

/** A Route node whose exits all end the turn: the path says which one it took. */
function graphOf(match) {
  return { start_node: 'route', nodes: { route: { type: 'Route', params: { labels, match } } } };
}

async function measure(client, match) {
  const right = Object.fromEntries(labels.map(({ name }) => [name, 0]));
  const totals = [];
  let notMatched = 0;
  let ofRest = 0;
  for (const { message, label } of items) {
    const turn = await withAgent(
      client,
      { model: options.model, graph: graphOf(match) },
      (agent) => agent.send(message).done,
    );
    const exit = turn.path.find(({ nodeName }) => nodeName === 'route').exit;
    if (exit === label) right[label]++;
    if (exit === 'not_matched') notMatched++;
    if (exit === 'not_matched' && label === rest) ofRest++;
    const event = turn.events.find(({ eventType }) => eventType === 'route')?.payload;
    const probabilities = Object.values(event?.probabilities ?? {});
    if (probabilities.length > 0) totals.push(probabilities.reduce((sum, value) => sum + value, 0));
    if (options.verbose)
      console.error(
        `${match} ${exit === label ? 'right' : 'wrong'} ${label} -> ${exit}: ${message} ${JSON.stringify(event ?? null)}`,
      );
  }
  if (match === 'model' && totals.length < items.length)
    throw new Error(`${items.length - totals.length} turns had no probabilities`);
  const sums = totals.length === 0 ? null : { least: Math.min(...totals), most: Math.max(...totals) };
  const hits = Object.values(right).reduce((sum, count) => sum + count, 0);
  return { match, accuracy: hits / items.length, withRest: (hits + ofRest) / items.length, right, notMatched, sums };
}
