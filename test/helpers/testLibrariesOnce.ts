import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const preload = fileURLToPath(new URL('testedLibraries.cjs', import.meta.url));
let folder: string | undefined;

/** Before all tests: lets the processes of this run share which llama.cpp libraries have passed (`testedLibraries.cjs`). */
export function setup(): void {
  const { NODE_OPTIONS: options = '', TURNGRAPH_TESTED_LIBRARIES: shared } = process.env;
  // Each project of vitest calls this, and a test may run vitest.
  if (shared !== undefined) return;
  folder = mkdtempSync(join(tmpdir(), 'turngraph-libraries-'));
  process.env['TURNGRAPH_TESTED_LIBRARIES'] = folder;
  process.env['NODE_OPTIONS'] = `${options} --require ${JSON.stringify(preload)}`.trim();
}

/** After all tests. */
export function teardown(): void {
  if (folder !== undefined) rmSync(folder, { recursive: true });
}
