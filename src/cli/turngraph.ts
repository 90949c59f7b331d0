#!/usr/bin/env node
// Imports nothing before the check: an older Node cannot parse the rest.
const minNodeVersion = 20;

if (Number(process.versions.node.split('.')[0]) < minNodeVersion) {
  process.stderr.write(`error: turngraph needs Node ${minNodeVersion} or newer; this is ${process.versions.node}\n`);
  process.exitCode = 1;
} else {
  const { runProgram } = await import('./program.ts');
  await runProgram();
}
