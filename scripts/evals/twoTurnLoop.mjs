// node scripts/evals/twoTurnLoop.mjs [OPTIONS]: the two-turn loop, where results do not come within the turn. The first message
// asks for a call; the client then phrases its result as the next message. How many conversations call again? In the control
// conversations the second message asks for another call: how many make exactly that one?
//   --model NAME --catalogue FILE --threads N    as in `npm run eval:tools`
//   --formats LIST    default: all formats of the server
//   --limit N         only the first N conversations
//   --json            one JSON document instead of the table
//   --verbose         what came, message by message
// The wirings are those of docs/tool-results.md:
//   message   the result is in the user's next message: "(The boat is tied up at pier 4.) Great, well done."
//   variable  the result is in `variables.previous_tool_results`, which the system prompt shows; the next message is
//             "Great, well done."
import { formats as knownFormats } from '../../dist/chat/formats/index.js';
import { assertKnown, readArguments, wholeNumber } from '../options.mjs';
import { serverOptions, withClient } from './evalServer.mjs';
import { formatColumns } from './formatColumns.mjs';
import { compare } from './tools/compare.mjs';
import { readControls, readTwoTurnItems } from './twoTurnLoop/items.mjs';
import { playTwoTurns, wirings } from './twoTurnLoop/play.mjs';

const { values: options } = readArguments({
  options: {
    ...serverOptions,
    formats: { type: 'string', default: [...knownFormats.keys()].join() },
    limit: { type: 'string' },
    json: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
  },
});
const formats = options.formats.split(',');
assertKnown('format', formats, knownFormats.keys());
const limit = wholeNumber('limit', options.limit);
const items = await readTwoTurnItems(limit);
const controls = await readControls(limit);

await withClient(options, async (client) => {
  const rows = [];
  for (const format of formats) for (const wiring of wirings) rows.push(await measure(client, { format, wiring }));
  const columns = ['format', 'wiring', 'called', 'exact', 'called again', 'answered', 'control'].map((name) => [
    name,
    (row) => row[name],
  ]);
  console.log(
    options.json
      ? JSON.stringify({ model: options.model, items: items.length, rows }, null, 2)
      : formatColumns(columns, rows, 2),
  );
});

/** Plays all conversations: how many called for the first message, exactly, and again for the second one. */
async function measure(client, row) {
  const counts = { called: 0, exact: 0, 'called again': 0, answered: 0, control: 0 };
  for (const item of items) {
    const { messages, first, second } = await playTwoTurns(client, options.model, item, row);
    const answeredSecond = second.calls.length === 0 && !second.truncated;
    if (first.calls.length > 0) counts.called++;
    if (compare([item.call], first) === 'exact') counts.exact++;
    if (!answeredSecond) counts['called again']++;
    if (answeredSecond && second.text !== '') counts.answered++;
    if (options.verbose) tell(item, row, messages, [first, second]);
  }
  for (const item of controls) {
    const { messages, first, second } = await playTwoTurns(client, options.model, item, row);
    if (compare([item.nextCall], second) === 'exact') counts.control++;
    if (options.verbose) tell(item, row, messages, [first, second]);
  }
  return { ...row, ...counts };
}

function tell({ id }, { format, wiring }, messages, turns) {
  console.error(`\n${id}, ${format}, ${wiring}`);
  for (const [index, { calls, text }] of turns.entries()) {
    console.error(`  user   ${messages[index]}`);
    for (const { name, arguments: given } of calls) console.error(`  call   ${name} ${JSON.stringify(given)}`);
    if (text !== '') console.error(`  model  ${text}`);
  }
}
