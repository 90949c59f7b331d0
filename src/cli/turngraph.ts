#!/usr/bin/env node
// Imports nothing before the check: an older Node cannot parse the rest.
const minNodeVersion = 20;

if (Number(process.versions.node.split('.')[0]) < minNodeVersion) {
  process.stderr.write(`error: turngraph needs Node ${minNodeVersion} or newer; this is ${process.versions.node}\n`);
  process.exitCode = 1;
} else {
  const { areFileHandlesFree, minFileHandles } = await import('./fileHandles.ts');
  if (areFileHandlesFree()) {
    const { runProgram } = await import('./program.ts');
    await runProgram();
  } else {
    const remedy = 'allow this process more, with "ulimit -n 1024"';
    process.stderr.write(`error: fewer than ${minFileHandles} file handles are free; ${remedy}\n`);
    process.exitCode = 1;
  }
}
