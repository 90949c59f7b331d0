// npm run strict [COUNT]: evaluates grammar-constrained decoding. Models with random weights generate calls and JSON at
// temperature 1.5, each text is checked, and strict calls of the demo model are compared with unconstrained ones.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { llamaEngine } from '../../dist/inference/llama/engine.js';
import { jsonGrammar } from '../../dist/chat/grammar/jsonSchema/fromSchema.js';
import { formats } from '../../dist/chat/formats/index.js';
import { formatsOf } from '../../dist/chat/dialect/nativeFormat.js';
import { nativeFormatName } from '../../dist/chat/dialect/nativeFormat.js';
import { withEnums } from '../../dist/chat/tools/declaration/enumSource.js';
import { readTool } from '../../dist/chat/tools/declaration/readTool.js';
import { compareStrictAndFree } from './strict/compare.mjs';
import {
  boundedTools as boundedDeclarations,
  inventory,
  inventoryTools,
  schemas,
  tools as declarations,
} from './strict/cases.mjs';
import { checkCalls, checkJson } from './strict/grammarCheck.mjs';
import { writableTools } from './strict/writableTools.mjs';
import { familyGguf } from '../gguf/families.mjs';
import { nativeFamilies, nativeGguf } from '../gguf/nativeFamilies.mjs';

const count = Number(process.argv[2] ?? 200);
if (!Number.isInteger(count) || count < 1) {
  console.error(`COUNT must be a whole number above 0, not "${process.argv[2]}"`);
  process.exit(2);
}
const load = { contextSize: 2048, slots: 1, threads: 1, gpu: 'off' };
const toTools = (list) => list.map((declaration) => readTool(declaration).value);
const tools = toTools(declarations);
const boundedTools = toTools(boundedDeclarations);
const choices = [{ kind: 'auto' }, { kind: 'required' }, { kind: 'tool', name: 'give_item' }];
const families = [
  ['chatml', 'Qwen2.5 Instruct'],
  ['llama3', 'Llama 3.1 Instruct'],
  ['mistral', 'Mistral 7B Instruct v0.3'],
  ['mistral', 'Mistral Nemo Instruct'],
  ['generic', 'Qwen3'],
  ['react', 'Qwen3'],
];

const folder = await mkdtemp(join(tmpdir(), 'strict-'));
const engine = llamaEngine();
const failures = [];
try {
  for (const [name, family] of families) {
    const model = await loadBytes(familyGguf(family));
    await checkChoices(model, { format: formats.get(name), tools }, family);
    await model[Symbol.asyncDispose]();
  }
  for (const [family, { endsStrings }] of nativeFamilies) {
    const model = await loadBytes(nativeGguf(family));
    const format = formatsOf(model.toolDialect, formats).get(nativeFormatName);
    if (format) await checkNative(model, format, { family, endsStrings });
    else failures.push(`${family}: no native format: ${model.toolDialect.because}`);
    await model[Symbol.asyncDispose]();
  }
  const model = await loadBytes(familyGguf('Qwen2.5 Instruct'));
  await checkInventories(model);
  for (const schema of schemas) {
    const grammar = jsonGrammar(schema).value;
    report(
      `response ${JSON.stringify(schema).slice(0, 50)}`,
      await checkJson(model, { grammar, schema, count: Math.ceil(count / 4) }),
    );
  }
  await model[Symbol.asyncDispose]();
  await compareStrictAndFree(engine);
} finally {
  await engine[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
}
for (const failure of failures) console.error(failure);
process.exitCode = failures.length > 0 ? 1 : 0;

async function loadBytes(bytes) {
  const file = join(folder, 'model.gguf');
  await writeFile(file, bytes);
  return engine.load(file, load);
}

async function checkNative(model, format, { family, endsStrings }) {
  const { writable, refused } = writableTools(endsStrings ? tools : boundedTools, format);
  for (const why of refused) console.log(`${family}: left out: ${why}`);
  await checkChoices(model, { format, tools: writable }, family);
}

async function checkChoices(model, options, family) {
  for (const choice of choices) {
    const result = await checkCalls(model, { ...options, choice, count });
    report(`${options.format.name}, ${choice.name ?? choice.kind} (${family})`, result);
  }
}

/** Calls whose values come with the message: another inventory for each tenth of them. */
async function checkInventories(model) {
  const totals = { complete: 0, cut: 0, wrong: [], tokens: 0, milliseconds: 0 };
  for (let turn = 0; turn < 10; turn++) {
    const values = inventory.filter((_, index) => (index + turn) % 3 > 0);
    const turnTools = toTools(inventoryTools).map((tool) =>
      withEnums(tool, new Map(tool.enumSources.map((source) => [source, values]))),
    );
    const choice = { kind: 'required' };
    const options = { format: formats.get('chatml'), tools: turnTools, choice, count: Math.ceil(count / 10) };
    const result = await checkCalls(model, { ...options, seed: 1 + turn * count });
    for (const key of ['complete', 'cut', 'tokens', 'milliseconds']) totals[key] += result[key];
    totals.wrong.push(...result.wrong);
  }
  report('chatml, enum_from with ten inventories (Qwen2.5 Instruct)', totals);
}

function report(title, { complete, cut, wrong, tokens, milliseconds }) {
  failures.push(...wrong);
  const share = ((100 * cut) / Math.max(1, complete + cut)).toFixed(1);
  const speed = Math.round((1000 * tokens) / milliseconds);
  console.log(
    `${title.padEnd(60)} ${complete} complete, ${wrong.length} wrong, ${share} % cut off at max_tokens, ${speed} tokens/s`,
  );
}
