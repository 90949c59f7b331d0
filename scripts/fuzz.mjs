// npm run fuzz [NAME...] [--count N] [--seed N] [--from N] [--templates DIR] [--minutes N]: feeds mutated inputs to a part of the program until one fails.
// `replyTime` also reads the chat templates of a folder (--templates DIR), and can run for a time (--minutes N).
// `requests` can begin at a case: with --from, --seed and --count 1 it repeats a failed one.
import { readdir } from 'node:fs/promises';
import { assertKnown, readArguments, wholeNumber } from './options.mjs';

const { values, positionals } = readArguments({
  allowPositionals: true,
  options: {
    count: { type: 'string' },
    seed: { type: 'string' },
    from: { type: 'string', default: '0' },
    templates: { type: 'string' },
    minutes: { type: 'string' },
  },
});
const chosenCount = wholeNumber('count', values.count);
const seed = wholeNumber('seed', values.seed ?? String(Date.now() % 2 ** 32), 0);
const from = wholeNumber('from', values.from, 0);
const minutes = wholeNumber('minutes', values.minutes);

const folder = new URL('fuzz/', import.meta.url);
const files = (await readdir(folder)).filter((file) => file.endsWith('.mjs')).sort();
const modules = await Promise.all(files.map((file) => import(new URL(file, folder).href)));
const fuzzers = new Map(modules.filter(({ fuzz }) => fuzz).map((module) => [module.name, module]));

assertKnown('fuzzer', positionals, fuzzers.keys());

for (const name of positionals.length > 0 ? positionals : fuzzers.keys()) {
  console.log(`${name}: seed ${seed}`);
  const { fuzz, defaultCount = 100_000 } = fuzzers.get(name);
  await fuzz({
    from,
    count: chosenCount ?? defaultCount,
    seed,
    templates: values.templates,
    minutes,
    log: (line) => console.log(`${name}: ${line}`),
  });
}
