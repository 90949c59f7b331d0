// npm run eval:tools [-- OPTIONS]: evaluates how well a model calls tools, in every format, free and strict.
//   --model NAME      a model of the catalogue; default turngraph-demo
//   --catalogue FILE  default: the models.json of this repository
//   --formats LIST    default chatml,llama3,mistral,generic
//   --modes LIST      default free,strict
//   --limit N         only the first N items of each category
//   --threads N       threads of inference; default 1, 0 = chosen by the engine
//   --json            one JSON document instead of the table
// It starts a server in this process and connects to it; the table goes to standard output, the rest to standard error.
import { connect } from 'turngraph/client';
import { startServer } from 'turngraph';
import { fileURLToPath } from 'node:url';
import { runItem, graphOf } from './tools/runItem.mjs';
import { compare } from './tools/compare.mjs';
import { readItems } from './tools/items.mjs';
import { formatTable } from './tools/table.mjs';
import { Score } from './tools/score.mjs';
import { exitWithUsageError, readArguments, wholeNumber } from '../options.mjs';

const known = { formats: ['chatml', 'llama3', 'mistral', 'generic'], modes: ['free', 'strict'] };
const { model, catalogue, formats, modes, limit, threads, json } = readOptions();
const logLine = (line) => process.stderr.write(`${line}\n`);

const began = performance.now();
const items = await readItems(limit);
await evaluate().catch((fault) => {
  // A Fault has a message for the user; anything else is a bug, and its stack is printed.
  console.error(typeof fault.code === 'number' ? fault.message : fault);
  process.exitCode = 1;
});

async function evaluate() {
  const server = await startServer({ port: 0, catalogue, threads, logLevel: 'warn' });
  try {
    const client = await connect(server.url);
    await client.loadModel(model);
    const rows = await measure(client, await allowedModes(client));
    await client.close();
    print(rows);
  } finally {
    await server[Symbol.asyncDispose]();
  }
}

function print(rows) {
  const seconds = Math.round((performance.now() - began) / 1000);
  logLine(`${items.length} items, ${rows.length} rows, ${seconds} s`);
  for (const { format, mode, failed } of rows) if (failed > 0) logLine(`${format} ${mode}: ${failed} turns failed`);
  console.log(
    json ? JSON.stringify({ model, items: items.length, threads, seconds, rows }, null, 2) : formatTable(rows),
  );
}

async function measure(client, allowed) {
  const rows = formats.flatMap((format) => allowed.map((mode) => ({ format, mode, score: new Score() })));
  const apart = Math.ceil(items.length / rows.length);
  for (let step = 0; step < items.length; step++) {
    // Rows alternate, so that noise hits all of them, and each is at another item, so that none finds its prompt in the cache.
    for (const [index, row] of rows.entries()) {
      const item = items[(step + index * apart) % items.length];
      const answer = await runItem(client, model, item, row).catch((fault) => {
        logLine(`\n${item.id}, ${row.format} ${row.mode}: ${fault.message}`);
      });
      row.score.add(item.category, answer ? compare(item.calls, answer) : 'failed', answer);
    }
    progress(step + 1, rows.length);
  }
  return rows.map(({ format, mode, score }) => ({ format, mode, ...score.summary }));
}

// A model or format may not support strict calls: the server then refuses the graph.
async function allowedModes(client) {
  if (!modes.includes('strict')) return modes;
  const graph = { default_model_name: model, ...graphOf(items[0].tools, { format: formats[0], mode: 'strict' }) };
  try {
    const agent = await client.createAgent({ graph });
    await agent.destroy();
    return modes;
  } catch (fault) {
    if (fault.code !== 3003) throw fault;
    logLine(`strict is refused, its rows are left out: ${fault.message}`);
    return modes.filter((mode) => mode !== 'strict');
  }
}

function progress(done, rows) {
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  const line = `${done * rows} of ${items.length * rows} turns, ${seconds} s`;
  if (process.stderr.isTTY) process.stderr.write(`\r${line}${done === items.length ? '\n' : ''}`);
  else if (done % 25 === 0 || done === items.length) logLine(line);
}

function readOptions() {
  const { values } = readArguments({
    options: {
      model: { type: 'string', default: 'turngraph-demo' },
      catalogue: { type: 'string', default: fileURLToPath(new URL('../../models.json', import.meta.url)) },
      formats: { type: 'string', default: known.formats.join() },
      modes: { type: 'string', default: known.modes.join() },
      limit: { type: 'string' },
      threads: { type: 'string', default: '1' },
      json: { type: 'boolean', default: false },
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
