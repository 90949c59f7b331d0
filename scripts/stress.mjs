// npm run soak [-- TEST... OPTIONS]: runs stress tests (soak, cancels, crowd, isolation, stopped) against a real server; default `soak`.
//   --minutes N    how long `soak` takes; default 30
//   --agents N     agents of the other tests, clients of `soak`
//   --count N      turns of `isolation` and `stopped`, cancels of `cancels`
//   --chaos        `soak` with cut connections and killed engine processes
//   --seed N       seed of all random choices; default 1
//   --model NAME   a model of models.json; default turngraph-demo
//   --json         one JSON document on standard output instead of lines
import { fileURLToPath } from 'node:url';
import * as cancels from './stress/cancellation.mjs';
import * as crowd from './stress/oversubscription.mjs';
import { openTestbed } from './stress/testbed.mjs';
import * as isolation from './stress/isolation.mjs';
import * as soak from './stress/soak.mjs';
import * as stopped from './stress/stoppedTurns.mjs';
import { formatReport } from './stress/report.mjs';
import { assertKnown, exitWithUsageError, readArguments, wholeNumber } from './options.mjs';

const tests = new Map([soak, cancels, crowd, isolation, stopped].map((test) => [test.name, test]));
const { names, json, ...options } = readOptions();
const logLine = (line) => process.stderr.write(`${line}\n`);

const context = await openTestbed({
  model: options.model,
  catalogue: fileURLToPath(new URL('../models.json', import.meta.url)),
});
const results = [];
for (const name of names) {
  const test = tests.get(name);
  const began = performance.now();
  const setOptions = Object.entries(options).filter(([, value]) => value !== undefined);
  const result = await test.run(context, {
    ...test.defaults,
    ...Object.fromEntries(setOptions),
    log: (line) => logLine(`${name} ${((performance.now() - began) / 1000).toFixed(0)} s: ${line}`),
  });
  results.push({ trial: name, seconds: Math.round((performance.now() - began) / 1000), ...result });
  if (!json) for (const line of formatReport(results.at(-1))) console.log(line);
}
await context.close();
if (json) console.log(JSON.stringify(results, null, 2));
process.exitCode = results.every(({ ok }) => ok) ? 0 : 1;

function readOptions() {
  const { values, positionals } = readArguments({
    allowPositionals: true,
    options: {
      minutes: { type: 'string' },
      agents: { type: 'string' },
      count: { type: 'string' },
      seed: { type: 'string', default: '1' },
      model: { type: 'string', default: 'turngraph-demo' },
      chaos: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  });
  assertKnown('stress test', positionals, tests.keys());
  return {
    ...values,
    names: positionals.length > 0 ? positionals : ['soak'],
    minutes: above0('minutes', values.minutes),
    agents: wholeNumber('agents', values.agents),
    count: wholeNumber('count', values.count),
    seed: wholeNumber('seed', values.seed),
  };
}

function above0(option, text) {
  if (text === undefined || Number(text) > 0) return text && Number(text);
  return exitWithUsageError(`--${option} must be a number above 0, not "${text}"`);
}
