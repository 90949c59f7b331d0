import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { repositoryPath } from '../../helpers/server.ts';

/** Writes the file that starts a bundle; this one starts the built command line, which loads models itself. */
export async function writeBundle(folder: string): Promise<void> {
  const program = join(folder, 'turngraph');
  const cli = repositoryPath('dist/cli/turngraph.js');
  await writeFile(program, `#!/bin/sh\nTURNGRAPH_ENGINE_PROCESS=in exec '${process.execPath}' '${cli}' "$@"\n`);
  await chmod(program, 0o755);
}
