// npm run bench [NAME...] [--quick] [--json] [--threads N] [--profile FOLDER]: measures turngraph against bare loops.
// The figures go to standard output, progress to standard error.
import { openBench } from './bench/bench.mjs';
import { rows } from './bench/cases.mjs';
import { tableOf } from './bench/table.mjs';
import { readArguments, refuse } from './options.mjs';

const flag = { type: 'boolean', default: false };
const { values, positionals } = readArguments({
  allowPositionals: true,
  options: { quick: flag, json: flag, threads: { type: 'string', default: '0' }, profile: { type: 'string' } },
});
const unknown = positionals.find((name) => !rows.some((row) => row.name === name));
if (unknown !== undefined)
  refuse(`no row is called "${unknown}"; there are: ${rows.map(({ name }) => name).join(', ')}`);
if (!/^\d{1,4}$/.test(values.threads)) refuse(`--threads must be a whole number, not "${values.threads}"`);

const chosen = positionals.length === 0 ? rows : rows.filter(({ name }) => positionals.includes(name));
const stats = [];
for (const { name, run } of chosen) {
  const start = performance.now();
  const log = (line) => console.error(`${name}: ${line}`);
  const bench = openBench({ ...values, threads: Number(values.threads), log });
  // Nothing that was started outlives the bench.
  const stop = () => void bench.close().finally(() => process.exit(130));
  process.once('SIGINT', stop).once('SIGTERM', stop);
  log('begins');
  try {
    const found = await run(bench);
    stats.push(...found);
    for (const { of, ratio, unit, met } of found)
      log(`${of}: ${ratio.toFixed(3)} ${unit}${met === false ? ', not met' : ''}`);
    log(`took ${((performance.now() - start) / 1000).toFixed(0)} s`);
  } catch (error) {
    // The other rows are still worth having.
    console.error(`${name}:`, error);
    process.exitCode = 1;
  } finally {
    await bench.close();
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}
console.log(values.json ? JSON.stringify(stats, undefined, 2) : tableOf(stats));
