// npm run eval:tools [-- OPTIONS]: evaluates how well a model calls tools, in every format, free and strict, and whether it uses
// the result of a call.
//   --model NAME      a model of the catalogue; default turngraph-demo
//   --catalogue FILE  default: the models.json of this repository
//   --formats LIST    default: all formats of the server
//   --modes LIST      default free,strict
//   --limit N         only the first N items of each category
//   --threads N       threads of inference; default 1, 0 = chosen by the engine
//   --results         only the category "result given"
//   --json            one JSON document instead of the table
//   --verbose         each answer of "result given", as a line of JSON
// It starts a server in this process and connects to it; the table goes to standard output, the rest to standard error.
import { formats as knownFormats } from '../../dist/chat/formats/index.js';
import { serverOptions, withAgent, withClient } from './evalServer.mjs';
import { runItem, graphOf } from './tools/runItem.mjs';
import { runResultItem, wirings } from './tools/runResultItem.mjs';
import { compare } from './tools/compare.mjs';
import { judgeResult } from './tools/judgeResult.mjs';
import { readItems } from './tools/items.mjs';
import { readResultItems } from './tools/resultItems.mjs';
import { formatTable } from './tools/table.mjs';
import { Confidences, confidenceLine } from './confidence.mjs';
import { Score } from './tools/score.mjs';
import { exitWithUsageError, readArguments, wholeNumber } from '../options.mjs';

const known = { formats: [...knownFormats.keys()], modes: ['free', 'strict'] };
const options = readOptions();
const { model, formats, modes, limit } = options;
const confidences = new Confidences();
const logLine = (line) => process.stderr.write(`${line}\n`);

const began = performance.now();
const items = options.results ? [] : await readItems(limit);
const resultItems = await readResultItems(limit);
await withClient(options, async (client) => print(await measure(client, await allowedModes(client))));

function print(rows) {
  const seconds = Math.round((performance.now() - began) / 1000);
  const count = items.length + resultItems.length;
  logLine(`${count} items, ${rows.length} rows, ${seconds} s`);
  for (const { format, mode, failed } of rows) if (failed > 0) logLine(`${format} ${mode}: ${failed} turns failed`);
  const { threads } = options;
  const { pairs } = confidences;
  logLine(confidenceLine(pairs));
  const document = { model, evaluation: 'eval:tools', items: count, threads, seconds, rows, confidences: pairs };
  console.log(options.json ? JSON.stringify(document, null, 2) : formatTable(rows));
}

async function measure(client, allowed) {
  const rows = formats.flatMap((format) => allowed.map((mode) => ({ format, mode, score: new Score() })));
  await inTurns(items, rows, async (item, row) => {
    const answer = await attempt(item, row, () => runItem(client, model, item, row));
    const outcome = answer ? compare(item.calls, answer) : 'failed';
    row.score.add(item.category, outcome, answer);
    confidences.add(answer?.calls ?? [], outcome === 'exact');
  });
  await inTurns(resultItems, rows, async (item, row) => {
    for (const wiring of wirings) {
      const answer = await attempt(item, row, () => runResultItem(client, model, item, row, wiring));
      const outcome = answer ? judgeResult(item, answer) : 'failed';
      row.score.addResult(wiring, outcome);
      const { format, mode } = row;
      if (options.verbose) logLine(JSON.stringify({ id: item.id, format, mode, wiring, outcome, ...answer }));
    }
  });
  return rows.map(({ format, mode, score }) => ({ format, mode, ...score.summary }));
}

// Rows alternate, so that noise hits all of them, and each is at another item, so that none finds its prompt in the cache.
async function inTurns(list, rows, run) {
  const apart = Math.ceil(list.length / rows.length);
  for (let step = 0; step < list.length; step++) {
    for (const [index, row] of rows.entries()) await run(list[(step + index * apart) % list.length], row);
    progress(step + 1, list.length, rows.length);
  }
}

function attempt(item, { format, mode }, run) {
  return run().catch((fault) => {
    logLine(`\n${item.id}, ${format} ${mode}: ${fault.message}`);
  });
}

// A model or format may not support strict calls: the server then refuses the graph.
async function allowedModes(client) {
  if (!modes.includes('strict')) return modes;
  try {
    const graph = graphOf(resultItems[0].tools, { format: formats[0], mode: 'strict' });
    await withAgent(client, { model, graph }, () => {});
    return modes;
  } catch (fault) {
    if (fault.code !== 3003) throw fault;
    logLine(`strict is refused, its rows are left out: ${fault.message}`);
    return modes.filter((mode) => mode !== 'strict');
  }
}

function progress(done, count, rows) {
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  const line = `${done * rows} of ${count * rows} turns, ${seconds} s`;
  if (process.stderr.isTTY) process.stderr.write(`\r${line}${done === count ? '\n' : ''}`);
  else if (done % 25 === 0 || done === count) logLine(line);
}

function readOptions() {
  const { values } = readArguments({
    options: {
      ...serverOptions,
      formats: { type: 'string', default: known.formats.join() },
      modes: { type: 'string', default: known.modes.join() },
      limit: { type: 'string' },
      results: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      verbose: { type: 'boolean', default: false },
    },
  });
  return {
    ...values,
    formats: listOf('formats', values.formats),
    modes: listOf('modes', values.modes),
    limit: wholeNumber('limit', values.limit),
    threads: wholeNumber('threads', values.threads, 0),
  };
}

function listOf(option, text) {
  const names = text.split(',');
  const unknown = names.find((name) => !known[option].includes(name));
  if (unknown !== undefined) exitWithUsageError(`--${option} knows ${known[option].join(', ')}, not "${unknown}"`);
  return names;
}
