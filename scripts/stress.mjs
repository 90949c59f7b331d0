// npm run soak [-- TRIAL... OPTIONS]: puts a real server through a trial; without a name the half hour of `soak`.
//   --minutes N    how long `soak` takes; default 30
//   --agents N     agents of the other trials, clients of `soak`
//   --count N      turns of `isolation`, cancels of `cancels`
//   --seed N       of everything that is left to chance; default 1
//   --model NAME   a model of models.json; default turngraph-demo
//   --json         one JSON document on standard output instead of lines
import { fileURLToPath } from 'node:url';
import * as cancels from './stress/cancellation.mjs';
import * as crowd from './stress/oversubscription.mjs';
import { houseOf } from './stress/testbed.mjs';
import * as isolation from './stress/isolation.mjs';
import * as soak from './stress/soak.mjs';
import { linesOf } from './stress/report.mjs';
import { readArguments, refuse } from './options.mjs';

const trials = new Map([soak, cancels, crowd, isolation].map((trial) => [trial.name, trial]));
const { names, json, ...options } = readOptions();
const say = (line) => process.stderr.write(`${line}\n`);

const context = await houseOf({
  model: options.model,
  catalogue: fileURLToPath(new URL('../models.json', import.meta.url)),
});
const results = [];
for (const name of names) {
  const trial = trials.get(name);
  const began = performance.now();
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const result = await trial.run(context, {
    ...trial.defaults,
    ...Object.fromEntries(given),
    log: (line) => say(`${name} ${((performance.now() - began) / 1000).toFixed(0)} s: ${line}`),
  });
  results.push({ trial: name, seconds: Math.round((performance.now() - began) / 1000), ...result });
  if (!json) for (const line of linesOf(results.at(-1))) console.log(line);
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
      json: { type: 'boolean', default: false },
    },
  });
  const stranger = positionals.find((name) => !trials.has(name));
  if (stranger !== undefined) refuse(`no trial is called "${stranger}"; there are: ${[...trials.keys()].join(', ')}`);
  return {
    ...values,
    names: positionals.length > 0 ? positionals : ['soak'],
    minutes: above0('minutes', values.minutes),
    agents: whole('agents', values.agents),
    count: whole('count', values.count),
    seed: whole('seed', values.seed),
  };
}

function whole(option, text) {
  if (text === undefined || /^[1-9]\d{0,8}$/.test(text)) return text && Number(text);
  return refuse(`--${option} must be a whole number above 0, not "${text}"`);
}

function above0(option, text) {
  if (text === undefined || Number(text) > 0) return text && Number(text);
  return refuse(`--${option} must be a number above 0, not "${text}"`);
}
