// npm run fuzz [NAME...] [--count N] [--seed N] [--from N]: feeds mutated inputs to a part of the program until one fails.
// `requests` can begin at a case: with --from, --seed and --count 1 it repeats a failed one.
import { readdir } from 'node:fs/promises';
import { readArguments, exitWithUsageError } from './options.mjs';

const { values, positionals } = readArguments({
  allowPositionals: true,
  options: { count: { type: 'string' }, seed: { type: 'string' }, from: { type: 'string', default: '0' } },
});
const chosenCount = values.count === undefined ? undefined : wholeNumber('count', values.count);
const seed = wholeNumber('seed', values.seed ?? String(Date.now() % 2 ** 32));

const folder = new URL('fuzz/', import.meta.url);
const files = (await readdir(folder)).filter((file) => file.endsWith('.mjs')).sort();
const modules = await Promise.all(files.map((file) => import(new URL(file, folder).href)));
const fuzzers = new Map(modules.filter(({ fuzz }) => fuzz).map((module) => [module.name, module]));

const unknown = positionals.find((name) => !fuzzers.has(name));
if (unknown !== undefined)
  exitWithUsageError(`no fuzzer is called "${unknown}"; there are: ${[...fuzzers.keys()].join(', ')}`);

for (const name of positionals.length > 0 ? positionals : fuzzers.keys()) {
  console.log(`${name}: seed ${seed}`);
  const { fuzz, defaultCount = 100_000 } = fuzzers.get(name);
  await fuzz({
    from: wholeNumber('from', values.from),
    count: chosenCount ?? defaultCount,
    seed,
    log: (line) => console.log(`${name}: ${line}`),
  });
}

function wholeNumber(option, text) {
  if (!/^\d{1,10}$/.test(text)) exitWithUsageError(`--${option} must be a whole number, not "${text}"`);
  return Number(text);
}
