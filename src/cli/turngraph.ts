#!/usr/bin/env node
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

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

if (Number(process.versions.node.split('.')[0]) < minNodeVersion) {
  process.stderr.write(`error: turngraph needs Node ${minNodeVersion} or newer; this is ${process.versions.node}\n`);
  process.exitCode = 1;
} else if (areFileHandlesFree()) {
  const { useCompileCache } = await import('../base/compileCache.ts');
  useCompileCache();
  const { runProgram } = await import('./program.ts');
  await runProgram();
} else {
  const remedy = 'allow this process more, with "ulimit -n 1024"';
  process.stderr.write(`error: fewer than ${minFileHandles} file handles are free; ${remedy}\n`);
  process.exitCode = 1;
}
