// Checks a model family with its real vocabulary and random weights: tokens, prompt, tool-call format, strict calls.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { toToolBlock } from '../../../dist/chat/dialog.js';
import { chooseFormat } from '../../../dist/chat/formats/index.js';
import { formats } from '../../../dist/chat/formats/index.js';
import { formatsOf } from '../../../dist/chat/dialect/nativeFormat.js';
import { readTool } from '../../../dist/chat/tools/declaration/readTool.js';
import { tinyGguf } from '../../gguf/gguf.mjs';
import { vocabularyOf } from '../../gguf/tokenizerJson.mjs';
import { boundedTools } from '../strict/cases.mjs';
import { checkCalls } from '../strict/grammarCheck.mjs';
import { neutralSampling } from '../strict/sampling.mjs';
import { writableTools } from '../strict/writableTools.mjs';
import { likelyTokens } from './likelyTokens.mjs';
import { openOwnTokenizer } from './ownTokenizer.mjs';
import { readPackage } from './packages.mjs';
import { difficultTexts } from './texts.mjs';
import { compareTokens, differenceOf, referenceTokenizer } from './tokens.mjs';

const load = { contextSize: 4096, slots: 2, threads: 1, gpu: 'off' };
const allTools = boundedTools.map((declaration) => readTool(declaration).value);
const messages = [
  { role: 'system', text: 'You are a lamp in the "Zürich" hall.' },
  { role: 'user', text: 'Turn the porch light on, 東京! 🐈' },
];
const choices = [{ kind: 'auto' }, { kind: 'required' }];
// Text between the calls is not checked.
const freeTokens = 40;

/**
 * @typedef {object} FamilyResult
 * @property {string} family
 * @property {number} words Tokens of the vocabulary.
 * @property {import('./tokens.mjs').TokenComparison} tokens
 * @property {{ tokens: number, difference: string }} prompt A prompt with tools; `difference` "" = the reference has the same tokens.
 * @property {{ name: string, reason: string, refused: string[] }} format `refused`: why tools were left out, one sentence each.
 * @property {Record<string, import('../strict/grammarCheck.mjs').GrammarCheckResult>} strict By tool choice.
 * @property {number} seconds
 */

/**
 * Checks one family.
 * @param {import('./catalogue.mjs').VocabularyFamily & { name: string, templateFile?: string }} family
 * @param {{ folder: string, engine: import('../../../src/inference/contract/engine.ts').Engine, Reference: unknown, count: number, log: (line: string) => void }} options
 * `folder`: where the packages are; the model file is written there.
 * @returns {Promise<FamilyResult>}
 */
export async function checkFamily({ name, package: packageName, pre, known, templateFile }, options) {
  const { folder, engine, Reference, count, log } = options;
  const began = performance.now();
  const files = await readPackage(folder, packageName);
  const chatTemplate = templateFile === undefined ? files.config.chat_template : await readFile(templateFile, 'utf8');
  const reference = referenceTokenizer(Reference, files);
  const vocab = vocabularyWith(files, pre, reference);
  const file = join(folder, `${name}.gguf`);
  await writeFile(file, tinyGguf({ name, vocab, chatTemplate, contextLength: 8192, likely: likelyTokens(vocab) }));
  const own = await openOwnTokenizer(file);
  const model = await engine.load(file, load);
  try {
    const { format, reason } = formatOf(model.toolDialect);
    const { writable: tools, refused } = writableTools(allTools, format);
    const prompt = { messages, tools: toToolBlock(tools, format), thinking: false };
    const result = {
      family: name,
      words: vocab.tokens.length,
      tokens: compareTokens(difficultTexts, { own, reference, known }),
      prompt: await comparePrompt(model, prompt, { own, reference, bos: vocab.addBos ? vocab.bos : undefined }),
      format: { name: format.name, reason, refused },
      strict: Object.fromEntries(choices.map(({ kind }) => [kind, undefined])),
    };
    // At the same time: with a large vocabulary, sampling takes most of it, on one core.
    await Promise.all(
      choices.map(async (choice) => {
        log(`${name}: ${count} calls, ${format.name}, ${choice.kind}`);
        result.strict[choice.kind] = await checkCalls(model, { format, tools, choice, count, freeTokens });
      }),
    );
    return { ...result, seconds: (performance.now() - began) / 1000 };
  } finally {
    await model[Symbol.asyncDispose]();
    await own[Symbol.asyncDispose]();
  }
}

function vocabularyWith({ tokenizer, config }, pre, reference) {
  // A special token is a string, or an object with it.
  const special = (token) => token?.content ?? token ?? undefined;
  const given = { bos: special(config.bos_token), eos: special(config.eos_token), pre };
  const vocab = vocabularyOf(tokenizer, { ...given, addBos: false });
  return { ...vocab, addBos: reference.addsBos(vocab.bos) };
}

/** The format that the server chooses for a model, and why. */
function formatOf(toolDialect) {
  const { name, reason } = chooseFormat({}, toolDialect);
  return { format: formatsOf(toolDialect, formats).get(name), reason };
}

/** Compares the tokens of a prompt with tools, and the number of those that the engine evaluates. */
async function comparePrompt(model, prompt, { own, reference, bos }) {
  const text = await model.render(prompt);
  const withBos = (ids) => (bos === undefined || ids[0] === bos ? ids : [bos, ...ids]);
  const ids = withBos(reference.prompt(text));
  const difference = differenceOf(withBos(own.prompt(text)), ids);
  const sequence = model.openSequence();
  const sampling = { ...neutralSampling, temperature: 0, max_tokens: 1, seed: 1 };
  const { tokens } = await sequence.generate(prompt, { sampling, signal: new AbortController().signal });
  await sequence[Symbol.asyncDispose]();
  const isSameCount = tokens.prompt === ids.length;
  return {
    tokens: tokens.prompt,
    difference: difference ?? (isSameCount ? '' : `${tokens.prompt} tokens are evaluated instead of ${ids.length}`),
  };
}
