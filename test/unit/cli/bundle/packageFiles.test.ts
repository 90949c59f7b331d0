import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listPackageFiles } from '../../../../src/cli/bundle/bundlePart.ts';

let root = '';
beforeEach(async () => void (root = await mkdtemp(join(tmpdir(), 'turngraph-'))));
afterEach(() => rm(root, { recursive: true }));

async function listOf(name: string, files: readonly string[]): Promise<readonly string[]> {
  for (const file of files) {
    await mkdir(dirname(join(root, file)), { recursive: true });
    await writeFile(join(root, file), '');
  }
  return listPackageFiles(root, name);
}

describe('the files of a package in a bundle', () => {
  it('are those that a program reads, and licences', async () => {
    const kept = [
      'LICENSE.md',
      'NOTICE',
      'dist/docs/index.js',
      'dist/index.cjs',
      'dist/index.js',
      'dist/notices.js',
      'dist/test/index.js',
      'lib/LICENSE',
      'package.json',
    ];
    const left = [
      '.github/workflows/a.js',
      '.npmignore',
      'README.md',
      'CHANGELOG.md',
      'dist/index.d.ts',
      'dist/index.d.mts',
      'dist/index.js.map',
      'dist/notices.d.ts',
      'dist/notices.js.map',
      'src/index.ts',
      'test/index.js',
      'docs/index.js',
      'examples/a.js',
      'node_modules/other/index.js',
    ];
    expect(await listOf('any', [...kept, ...left])).toEqual(kept);
  });

  it('are of turngraph only the built program and its protocol', async () => {
    const kept = ['LICENSE', 'dist/cli/turngraph.js', 'package.json', 'proto/turngraph/v1/wire.proto'];
    const left = [
      'models/demo.gguf',
      'graphs/a.json',
      'models.json',
      'scripts/a.mjs',
      'examples/a.mjs',
      'proto/golden/a.json',
    ];
    expect(await listOf('turngraph', [...kept, ...left])).toEqual(kept);
  });

  it('are of node-llama-cpp without the sources of llama.cpp', async () => {
    const kept = ['dist/cli/utils/path.js', 'llama/grammars/json.gbnf', 'llama/llama.cpp.info.json'];
    const left = [
      'llama/gitRelease.bundle',
      'llama/addon/addon.cpp',
      'llama/xpack/package.json',
      'templates/a.json',
      'bins/a.txt',
    ];
    expect(await listOf('node-llama-cpp', [...kept, ...left])).toEqual(kept);
  });
});
