// npm run chaos [-- CASE... OPTIONS]: cuts connections and kills processes of a real server; default: all cases.
//   --count N      cuts, kills or files of a case; default 200, 100 and 300
//   --seed N       seed of all random choices; default 1
//   --signal NAME  signal of `kills`: KILL (default) or STOP
//   --model NAME   a model of models.json; default turngraph-demo
//   --json         one JSON document on standard output instead of lines
import { fileURLToPath } from 'node:url';
import { readCatalogue } from '../dist/inference/models/catalogue/catalogue.js';
import * as answers from './chaos/answers.mjs';
import * as files from './chaos/files.mjs';
import * as kills from './chaos/kills.mjs';
import * as requests from './chaos/requests.mjs';
import * as serverEnds from './chaos/serverEnds.mjs';
import { formatReport } from './stress/report.mjs';
import { assertKnown, exitWithUsageError, readArguments, wholeNumber } from './options.mjs';

const cases = new Map([answers, requests, kills, serverEnds, files].map((one) => [one.name, one]));
const { names, json, model, count, ...options } = readOptions();
const { models } = await readCatalogue(fileURLToPath(new URL('../models.json', import.meta.url)));
const file = models.get(model)?.file;
if (!file) exitWithUsageError(`models.json has no model "${model}" that is on disk`);

const results = [];
for (const name of names) {
  const one = cases.get(name);
  const began = performance.now();
  const seconds = () => Math.round((performance.now() - began) / 1000);
  const log = (line) => process.stderr.write(`${name} ${seconds()} s: ${line}\n`);
  const result = await one.run({ model, file }, { ...one.defaults, ...options, ...(count && { count }), log });
  results.push({ trial: name, seconds: seconds(), ...result });
  if (!json) for (const line of formatReport(results.at(-1))) console.log(line);
}
if (json) console.log(JSON.stringify(results, null, 2));
process.exitCode = results.every(({ ok }) => ok) ? 0 : 1;

function readOptions() {
  const { values, positionals } = readArguments({
    allowPositionals: true,
    options: {
      count: { type: 'string' },
      seed: { type: 'string', default: '1' },
      signal: { type: 'string', default: 'KILL' },
      model: { type: 'string', default: 'turngraph-demo' },
      json: { type: 'boolean', default: false },
    },
  });
  assertKnown('case', positionals, cases.keys());
  if (!['KILL', 'STOP'].includes(values.signal)) exitWithUsageError(`--signal is KILL or STOP, not "${values.signal}"`);
  return {
    ...values,
    signal: `SIG${values.signal}`,
    names: positionals.length > 0 ? positionals : [...cases.keys()],
    count: wholeNumber('count', values.count),
    seed: wholeNumber('seed', values.seed),
  };
}
