// Writes the licence texts that `turngraph bundle` needs and that are in no installed package, to licenses/:
//
//   node scripts/licenses.mjs node FILE VERSION SOURCE    the LICENSE of a release of Node, for its major version, compressed
//   node scripts/licenses.mjs llama.cpp                   those of the llama.cpp that is installed; needs git
//
// licenses/sources.json has what each text was taken from.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const pathOf = (/** @type {string} */ name) => fileURLToPath(new URL(`../${name}`, import.meta.url));
const sourcesFile = pathOf('licenses/sources.json');

/** @type {(file: string, text: string, source: object) => void} */
function save(file, text, source) {
  const sources = JSON.parse(readFileSync(sourcesFile, 'utf8'));
  const entries = Object.entries({ ...sources, [file]: source }).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const lines = `${text.replaceAll('\r\n', '\n').trim()}\n`;
  writeFileSync(pathOf(`licenses/${file}`), file.endsWith('.gz') ? gzipSync(lines, { level: 9 }) : lines);
  writeFileSync(sourcesFile, `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`);
}

/** @type {(file: string, version: string, source: string) => void} */
function saveNode(file, version, source) {
  const text = readFileSync(file, 'utf8');
  if (!text.startsWith('Node.js is licensed for use as follows')) throw new Error(`${file} is not the LICENSE of Node`);
  const [major] = version.split('.');
  save(`node-${major}.txt.gz`, text, { name: 'Node.js', version, source });
}

/**
 * What llama.cpp contains of others: files with their texts, and sources with theirs in a comment, between two patterns.
 * @type {readonly (readonly [name: string, path: string, from?: RegExp, to?: RegExp])[]}
 */
const llamaParts = [
  ['llama.cpp and ggml', 'LICENSE'],
  ['JSON for Modern C++', 'licenses/LICENSE-jsonhpp'],
  ['cpp-httplib', 'vendor/cpp-httplib/LICENSE'],
  ['rotate-bits', 'vendor/hash/rotate-bits/LICENSE.md'],
  ['SHA-256', 'vendor/hash/sha256/LICENSE'],
  ['xxHash', 'vendor/hash/xxhash/LICENSE'],
  ['SHA-1 in C', 'vendor/hash/sha1/sha1.c', /^SHA-1 in C/m, /^100% Public Domain\n/m],
  ['miniaudio', 'vendor/miniaudio/miniaudio.h', /^This software is available as a choice of/m, /^\*\/$/m],
  ['stb_image', 'vendor/stb/stb_image.h', /^This software is available under 2 licenses/m, /^\*\/$/m],
  ['subprocess.h', 'vendor/sheredom/subprocess.h', /^ {3}This is free and unencumbered/m, /^\*\/$/m],
  ['llamafile (matrix multiplication)', 'ggml/src/ggml-cpu/llamafile/sgemm.cpp', /^\/\/ Copyright/m, /^\n/m],
  ['YaRN (rope scaling)', 'ggml/src/ggml-cpu/ops.cpp', /^\/\/ YaRN algorithm/m, /^(?!\/\/)/m],
];

function saveLlama() {
  const library = pathOf('node_modules/node-llama-cpp/llama');
  const { tag, llamaCppGithubRepo: repo } = JSON.parse(readFileSync(join(library, 'llama.cpp.info.json'), 'utf8'));
  const folder = mkdtempSync(join(tmpdir(), 'llama.cpp-'));
  try {
    execFileSync('git', ['clone', '--quiet', '--no-checkout', join(library, 'gitRelease.bundle'), folder]);
    const git = (/** @type {readonly string[]} */ ...args) =>
      execFileSync('git', args, { cwd: folder, encoding: 'utf8', maxBuffer: 2 ** 26 });
    // A text that is new in llama.cpp must not be left out.
    const listed = git('ls-tree', '-r', '--name-only', 'HEAD').split('\n');
    const known = llamaParts.map(([, path]) => path);
    const unknown = listed.filter(
      (path) => /^(?:licenses\/|vendor\/.*licen[cs]e|LICENSE)/i.test(path) && !known.includes(path),
    );
    if (unknown.length > 0) throw new Error(`add to llamaParts: ${unknown.join(', ')}`);
    const texts = llamaParts.map(([name, path, from, to]) => {
      const text = cut(git('show', `HEAD:${path}`), path, from, to);
      return `${name} (${path})\n${'-'.repeat(80)}\n\n${text.trim()}\n`;
    });
    save('llama.cpp.txt', texts.join('\n'), { name: 'llama.cpp', version: tag, source: `https://github.com/${repo}` });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @type {(text: string, path: string, from?: RegExp, to?: RegExp) => string} */
function cut(text, path, from, to) {
  if (!from || !to) return text;
  const start = text.search(from);
  const length = start < 0 ? -1 : text.slice(start).search(to);
  if (length < 0) throw new Error(`${path} does not have its licence where it was`);
  const [end = ''] = to.exec(text.slice(start)) ?? [];
  const kept = text.slice(start, start + length + (end.startsWith('*/') ? 0 : end.length));
  return kept.replaceAll(/^\/\/ ?/gm, '');
}

const [what, file, version, source] = process.argv.slice(2);
if (what === 'node' && file && version && source) saveNode(file, version, source);
else if (what === 'llama.cpp') saveLlama();
else throw new Error('usage: node scripts/licenses.mjs node FILE VERSION SOURCE | llama.cpp');
