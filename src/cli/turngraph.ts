#!/usr/bin/env node
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

// Imports nothing of the program before the check: an older Node cannot parse the rest.
const minNodeVersion = 20;

// Node reads modules in parallel: with fewer than about 150 file handles an import fails, often as "Cannot find package".
const minFileHandles = 192;

/** Whether this process may open `minFileHandles` more files. */
function areFileHandlesFree(): boolean {
  const handles: number[] = [];
  try {
    while (handles.length < minFileHandles) handles.push(openSync(fileURLToPath(import.meta.url), 'r'));
    return true;
  } catch {
    return false;
  } finally {
    for (const handle of handles) closeSync(handle);
  }
}

/** In the folder that `--cache` or `TURNGRAPH_CACHE` names, or the user's: before the options are read with the rest. */
async function keepCompiledCode(): Promise<void> {
  const { useCompileCache } = await import('../base/compileCache.ts');
  const { default: envPaths } = await import('env-paths');
  const { cache } = parseArgs({ options: { cache: { type: 'string' } }, strict: false }).values;
  const named = typeof cache === 'string' ? cache : process.env['TURNGRAPH_CACHE'];
  useCompileCache(named || envPaths('turngraph', { suffix: '' }).cache);
}

if (Number(process.versions.node.split('.')[0]) < minNodeVersion) {
  process.stderr.write(`error: turngraph needs Node ${minNodeVersion} or newer; this is ${process.versions.node}\n`);
  process.exitCode = 1;
} else if (areFileHandlesFree()) {
  await keepCompiledCode();
  const { runProgram } = await import('./program.ts');
  await runProgram();
} else {
  const remedy = 'allow this process more, with "ulimit -n 1024"';
  process.stderr.write(`error: fewer than ${minFileHandles} file handles are free; ${remedy}\n`);
  process.exitCode = 1;
}
