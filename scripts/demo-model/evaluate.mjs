// node scripts/demo-model/evaluate.mjs [--model FILE] [--mode free|strict] [--formats LIST] [--limit N] [--wrong] [--json]
// Evaluates the demo model: tool calls with greedy sampling, through the server, in each format, on three held-out sets.
// `everyday`: written by hand, apart from the training text. `shipped`: the tools of the shipped examples in other words.
// `generated`: tools, parameters, values and phrasings that the generator holds out.
import { readFile } from 'node:fs/promises';
import { runItem } from '../evals/tools/runItem.mjs';
import { compare } from '../evals/tools/compare.mjs';
import { readArguments, exitWithUsageError } from '../options.mjs';
import { createRng } from '../seededRandom.mjs';
import { readCatalogue } from './generate/catalogue.mjs';
import { documentsFrom } from './generate/documents.mjs';
import { formatNames } from './generate/prompts.mjs';
import { modelName, withClient } from './evalServer.mjs';

const { values: options } = readArguments({
  options: {
    model: { type: 'string', default: 'models/turngraph-demo.gguf' },
    mode: { type: 'string', default: 'free' },
    formats: { type: 'string', default: formatNames.join() },
    limit: { type: 'string' },
    wrong: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const formats = options.formats.split(',');
known('formats', formats, formatNames);
known('mode', [options.mode], ['free', 'strict']);
const columns = ['one', 'several', 'two', 'none', 'shipped', 'generated', 'generated none'];

const limit = Number(options.limit ?? Infinity);
const written = [...(await read('everyday')), ...(await read('shipped'))];
const items = [...written, ...(limit > written.length ? generated(200, 50) : [])].slice(0, limit);
await withClient(options.model, async (client) => {
  const rows = [];
  for (const format of formats) rows.push({ format, ...(await measure(client, format)) });
  console.log(options.json ? JSON.stringify(rows, null, 2) : table(rows));
});

function known(option, names, all) {
  const unknown = names.find((name) => !all.includes(name));
  if (unknown !== undefined) exitWithUsageError(`--${option} knows ${all.join(', ')}, not "${unknown}"`);
}

async function measure(client, format) {
  const failures = [];
  const counts = Object.fromEntries(columns.map((name) => [name, { right: 0, all: 0 }]));
  for (const item of items) {
    const answer = await runItem(client, modelName, item, { format, mode: options.mode }).catch((fault) => {
      failures.push(fault.message);
      return { calls: [], text: fault.message, failed: true };
    });
    const outcome = answer.failed ? 'failed' : compare(item.calls, answer);
    counts[item.category].all++;
    if (outcome === 'exact') counts[item.category].right++;
    else if (options.wrong)
      console.log(
        JSON.stringify({
          format,
          outcome,
          message: item.message,
          due: item.calls,
          calls: answer.calls,
          text: answer.text,
        }),
      );
  }
  if (failures.length > 0) console.error(`${format}: ${failures.length} turns failed, the first with: ${failures[0]}`);
  return counts;
}

async function read(name) {
  return JSON.parse(await readFile(new URL(`heldout/${name}.json`, import.meta.url), 'utf8'));
}

/** Items of the generator's held-out part: `calling` items with calls, and `silent` ones that no tool fits. */
function generated(calling, silent) {
  const { toolDocument } = documentsFrom(readCatalogue(), createRng(20_000), 'held');
  const expectsCall = { generated: calling, 'generated none': silent };
  const chosen = [];
  while (chosen.length < calling + silent) {
    const { declarations, branches } = toolDocument({ format: 'chatml', messages: 3, quiet: 0.35 });
    for (const { turns, calls } of branches.slice(0, 2)) {
      const category = calls.length > 0 ? 'generated' : 'generated none';
      if (expectsCall[category]-- <= 0) continue;
      const exact = calls.map(({ name, arguments: all }) => ({
        name,
        arguments: Object.fromEntries(Object.entries(all).map(([key, value]) => [key, [value]])),
      }));
      chosen.push({
        id: `generated-${chosen.length}`,
        category,
        tools: declarations,
        message: turns[0].said.text,
        calls: exact,
      });
    }
  }
  return chosen;
}

function table(rows) {
  const percent = ({ right, all }) => (all === 0 ? '' : `${((100 * right) / all).toFixed(0)} %`);
  const lines = rows.map((row) => [row.format, ...columns.map((name) => percent(row[name]))]);
  const line = (cells) =>
    `| ${cells.map((cell, at) => (at === 0 ? cell.padEnd(8) : cell.padStart(columns[at - 1].length))).join(' | ')} |`;
  return [
    line(['format', ...columns]),
    `| ${['-'.repeat(8), ...columns.map((name) => `${'-'.repeat(name.length - 1)}:`)].join(' | ')} |`,
    ...lines.map(line),
  ].join('\n');
}
