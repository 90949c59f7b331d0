// node scripts/demo-model/evaluate.mjs [--model FILE] [--mode free|strict] [--formats LIST] [--limit N] [--wrong] [--json]
// How much of what it should a demo model calls: greedily, over a WebSocket, in each format, on three sets that training
// never saw. `everyday`: written by hand, apart from the training text. `shipped`: the tools of the shipped examples in
// other words. `generated`: tools, parameters, values and phrasings that the generator holds back.
import { readFile } from 'node:fs/promises';
import { runItem } from '../evals/tools/runItem.mjs';
import { compare } from '../evals/tools/compare.mjs';
import { readArguments, exitWithUsageError } from '../options.mjs';
import { createRng } from '../seededRandom.mjs';
import { readCatalogue } from './generate/catalogue.mjs';
import { documentsFrom } from './generate/documents.mjs';
import { formatNames } from './generate/prompts.mjs';
import { modelName, withClient } from './evalServer.mjs';

const { values: given } = readArguments({
  options: {
    model: { type: 'string', default: 'models/turngraph-demo.gguf' },
    mode: { type: 'string', default: 'free' },
    formats: { type: 'string', default: formatNames.join() },
    limit: { type: 'string' },
    wrong: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const formats = given.formats.split(',');
known('formats', formats, formatNames);
known('mode', [given.mode], ['free', 'strict']);
const columns = ['one', 'several', 'two', 'none', 'shipped', 'generated', 'generated none'];

const items = [...(await read('everyday')), ...(await read('shipped')), ...generated(200, 50)].slice(
  0,
  Number(given.limit ?? Infinity),
);
await withClient(given.model, async (client) => {
  const rows = [];
  for (const format of formats) rows.push({ format, ...(await measure(client, format)) });
  console.log(given.json ? JSON.stringify(rows, null, 2) : table(rows));
});

function known(option, names, all) {
  const stranger = names.find((name) => !all.includes(name));
  if (stranger !== undefined) exitWithUsageError(`--${option} knows ${all.join(', ')}, not "${stranger}"`);
}

async function measure(client, format) {
  const faults = [];
  const counts = Object.fromEntries(columns.map((name) => [name, { right: 0, all: 0 }]));
  for (const item of items) {
    const heard = await runItem(client, modelName, item, { format, mode: given.mode }).catch((fault) => {
      faults.push(fault.message);
      return { calls: [], text: fault.message, failed: true };
    });
    const outcome = heard.failed ? 'failed' : compare(item.calls, heard);
    counts[item.category].all++;
    if (outcome === 'exact') counts[item.category].right++;
    else if (given.wrong)
      console.log(
        JSON.stringify({
          format,
          outcome,
          message: item.message,
          due: item.calls,
          calls: heard.calls,
          text: heard.text,
        }),
      );
  }
  if (faults.length > 0) console.error(`${format}: ${faults.length} turns failed, the first with: ${faults[0]}`);
  return counts;
}

async function read(name) {
  return JSON.parse(await readFile(new URL(`heldout/${name}.json`, import.meta.url), 'utf8'));
}

/** Items of the generator's held-out part: so many with calls, and so many where nothing fits. */
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
