import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { libraryPackage } from '../../src/inference/llama/libraryFault.ts';
import { repositoryPath } from './server.ts';

describe('a llama.cpp library that has passed', () => {
  it('is not tested again in the same run, but another one is, and the same one in another environment', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const bins = repositoryPath(`node_modules/${libraryPackage(process)}/bins`);
    const [bin = ''] = await readdir(bins);
    const library = join(bins, bin, 'llama-addon.node');
    const damaged = join(folder, 'llama-addon.node');
    await writeFile(damaged, 'no library');
    const count = join(folder, 'count.cjs');
    await writeFile(
      count,
      `const childProcess = require('node:child_process');
      const { fork } = childProcess;
      globalThis.forks = 0;
      childProcess.fork = (...args) => (globalThis.forks++, fork(...args));`,
    );
    const tester = repositoryPath('node_modules/node-llama-cpp/dist/bindings/utils/testBindingBinary.js');
    const script = join(folder, 'script.mjs');
    await writeFile(
      script,
      `const [, , tester, library, damaged] = process.argv;
      const { testBindingBinary } = await import(tester);
      const results = [];
      const test = async (file) => results.push([await testBindingBinary(file, undefined, false), globalThis.forks]);
      for (const file of [library, library, damaged, damaged]) await test(file);
      process.env.GGML_LOG = '1';
      await test(library);
      console.log(JSON.stringify(results));`,
    );
    const preload = repositoryPath('test/helpers/testedLibraries.cjs');
    const flags = ['--require', count, '--require', preload];
    const env = { ...process.env, NODE_OPTIONS: '', TURNGRAPH_TESTED_LIBRARIES: folder };
    const { stdout } = await promisify(execFile)(process.execPath, [...flags, script, tester, library, damaged], {
      env,
    });
    expect(JSON.parse(stdout)).toEqual([
      [true, 1],
      [true, 1],
      [false, 2],
      [false, 3],
      [true, 4],
    ]);
    await rm(folder, { recursive: true });
  });
});
