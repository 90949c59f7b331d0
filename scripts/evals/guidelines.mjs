// node scripts/evals/guidelines.mjs [OPTIONS]: 40 messages to a house with 12 tools behind 4 guidelines (guidelines/): how many
// calls are exact, and how long is the prompt, with all tools offered, and with those that a SelectTools node selects?
//   --model NAME --catalogue FILE --threads N    as in `npm run eval:tools`
//   --format NAME     tool-call format; default: the server's choice
//   --limit N         only the first N messages
//   --json            one JSON document instead of the table
//   --verbose         each message with what came
// Columns: exact of all messages, and of those that want a call; how often the guideline of the wanted call is among the
// selected ones, and how many are selected on average; prompt tokens of the ToolCall node (median of the turns in which it asks
// its model), and of the yes/no questions.
import { formats as knownFormats } from '../../dist/chat/formats/index.js';
import { assertKnown, readArguments, wholeNumber } from '../options.mjs';
import { serverOptions, withAgent, withClient } from './evalServer.mjs';
import { formatColumns, percent } from './formatColumns.mjs';
import { graphs, promptTokens, selectedGuidelines } from './guidelines/graphs.mjs';
import { readHouse, readHouseItems } from './guidelines/items.mjs';
import { compare } from './tools/compare.mjs';
import { toAnswer } from './tools/runItem.mjs';

const { values: options } = readArguments({
  options: {
    ...serverOptions,
    format: { type: 'string' },
    limit: { type: 'string' },
    json: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
  },
});
if (options.format !== undefined) assertKnown('format', [options.format], knownFormats.keys());
const house = await readHouse();
const items = await readHouseItems(wholeNumber('limit', options.limit));

await withClient(options, async (client) => {
  const rows = [];
  for (const [offer, graphOf] of Object.entries(graphs)) rows.push(await measure(client, offer, graphOf));
  const columns = [
    ['offered', ({ offer }) => offer],
    ['exact', ({ exact }) => percent(exact)],
    ['of the calls', ({ exactCalls }) => percent(exactCalls)],
    ['guideline found', ({ found }) => percent(found)],
    ['selected', ({ selected }) => (selected === null ? '' : selected.toFixed(1))],
    ['prompt tokens', ({ promptTokens: tokens }) => tokens ?? ''],
    ['of the questions', ({ questionTokens }) => questionTokens],
  ];
  console.log(
    options.json
      ? JSON.stringify({ model: options.model, items: items.length, rows }, null, 2)
      : formatColumns(columns, rows, 1),
  );
});

/** Plays all messages; each with an agent of its own, so that no message has a dialog. */
async function measure(client, offer, graphOf) {
  const answers = [];
  for (const item of items) {
    const graph = graphOf(house, options.format);
    const turn = await withAgent(
      client,
      { model: options.model, graph, enableDiagnostics: true },
      (agent) => agent.send(item.message).done,
    );
    const outcome = compare(item.calls, toAnswer(turn));
    const selected = selectedGuidelines(turn);
    answers.push({ item, outcome, selected, prompt: promptTokens(turn), all: turn.tokens.prompt });
    if (options.verbose) tell(offer, item, turn, outcome, selected);
  }
  const exact = ({ outcome }) => outcome === 'exact';
  const called = answers.filter(({ item }) => item.calls.length > 0);
  const selects = offer !== 'all 12';
  return {
    offer,
    exact: answers.filter(exact).length / answers.length,
    exactCalls: called.filter(exact).length / called.length,
    found: selects
      ? called.filter(({ item, selected }) => selected.includes(item.guideline)).length / called.length
      : null,
    selected: selects ? answers.reduce((sum, { selected }) => sum + selected.length, 0) / answers.length : null,
    // Nothing selected: no inference, and no prompt.
    promptTokens: median(answers.flatMap(({ prompt }) => (prompt === undefined ? [] : [prompt]))),
    questionTokens: median(answers.map(({ prompt, all }) => all - (prompt ?? 0))),
  };
}

function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? null;
}

function tell(offer, { message }, turn, outcome, selected) {
  const calls = toAnswer(turn).calls.map(({ name, arguments: given }) => `${name} ${JSON.stringify(given)}`);
  console.error(`${offer}, ${outcome}: ${message} [${selected.join(', ')}] -> ${calls.join(' ') || turn.text}`);
}
