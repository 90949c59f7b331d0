#!/usr/bin/env node
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

// Imports only modules of Node before the check: an older Node cannot parse the rest.
const minNodeVersion = 20;

// Node reads modules in parallel. With fewer handles than about 150 an import fails, often as "Cannot find package".
const minFileHandles = 192;

if (Number(process.versions.node.split('.')[0]) < minNodeVersion) {
  fail(`turngraph needs Node ${minNodeVersion} or newer; this is ${process.versions.node}`);
} else if (!areFileHandlesFree(minFileHandles)) {
  fail(`fewer than ${minFileHandles} file handles are free; allow this process more, with "ulimit -n 1024"`);
} else {
  const { runProgram } = await import('./program.ts');
  await runProgram();
}

function fail(sentence: string): void {
  process.stderr.write(`error: ${sentence}\n`);
  process.exitCode = 1;
}

function areFileHandlesFree(count: number): boolean {
  const handles: number[] = [];
  try {
    while (handles.length < count) handles.push(openSync(fileURLToPath(import.meta.url), 'r'));
    return true;
  } catch {
    return false;
  } finally {
    for (const handle of handles) closeSync(handle);
  }
}
