// npm run bench [NAME...] [--quick] [--json] [--threads N] [--profile FOLDER] [--llama-server PATH] [--model FILE]: benchmarks
// turngraph against baselines without it. The results go to standard output, progress to standard error.
import { openBench } from './bench/bench.mjs';
import { cases } from './bench/cases.mjs';
import { formatTable } from './bench/table.mjs';
import { assertKnown, exitWithUsageError, readArguments, wholeNumber } from './options.mjs';

const flag = { type: 'boolean', default: false };
const { values, positionals } = readArguments({
  allowPositionals: true,
  options: {
    quick: flag,
    json: flag,
    threads: { type: 'string', default: '0' },
    profile: { type: 'string' },
    'llama-server': { type: 'string' },
    model: { type: 'string' },
  },
});
const names = cases.map(({ name }) => name);
assertKnown('benchmark case', positionals, names);
const threads = wholeNumber('threads', values.threads, 0);

const options = { ...values, threads, llamaServer: values['llama-server'] };
const named = positionals.length === 0 ? cases : cases.filter(({ name }) => positionals.includes(name));
const selected = named.filter(({ needs = () => true }) => needs(options));
if (selected.length === 0) exitWithUsageError('peers needs --llama-server PATH');
const allResults = [];
for (const { name, run } of selected) {
  const start = performance.now();
  const log = (line) => console.error(`${name}: ${line}`);
  const bench = openBench({ ...options, log });
  // Ctrl-C also stops the servers that were started.
  const stop = () => void bench.close().finally(() => process.exit(130));
  process.once('SIGINT', stop).once('SIGTERM', stop);
  log('begins');
  try {
    const results = await run(bench);
    allResults.push(...results);
    for (const { of, ratio, unit, met } of results)
      log(`${of}: ${ratio.toFixed(3)} ${unit}${met === false ? ', not met' : ''}`);
    log(`took ${((performance.now() - start) / 1000).toFixed(0)} s`);
  } catch (error) {
    // The other cases still run.
    console.error(`${name}:`, error);
    process.exitCode = 1;
  } finally {
    await bench.close();
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}
console.log(values.json ? JSON.stringify(allResults, undefined, 2) : formatTable(allResults));
