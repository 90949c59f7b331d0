import { Command } from 'commander';
import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { basename, join, relative, resolve } from 'node:path';
import { describeFsError, makeFolder } from '../../base/filesystem.ts';
import { bundledPath, version } from '../../base/packageFiles.ts';
import { UsageError } from '../options.ts';

export const newCommand = (): Command =>
  new Command('new')
    .description('write a small game with a graph, lore, a page and tests into a new folder')
    .argument('<folder>', 'the folder, which is not there yet or empty')
    .action(async (folder: string) => {
      const entries = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return [];
        throw error.code === 'ENOTDIR' ? new UsageError(`${folder} is a file; name a new folder`) : error;
      });
      await makeFolder(folder).catch((error: unknown) => {
        throw new Error(`${folder} cannot be written: ${describeFsError(error)}`);
      });
      if (entries.length > 0) throw new UsageError(`${folder} is not empty; name a new folder`);
      await cp(bundledPath('examples/my-game'), folder, {
        recursive: true,
        filter: (path) => !/node_modules/.test(relative(template, path)),
      });
      await cp(bundledPath('examples/browser/turngraph.js'), join(folder, 'page', 'turngraph.js'));
      await writePackage(folder);
      await linkPackage(folder);
      process.stdout.write(
        `${folder} is ready. Next:\n\n  cd ${/\s/.test(folder) ? `"${folder}"` : folder}\n  npm start\n\n`,
      );
    });

const template = bundledPath('examples/my-game');
const packageRoot = bundledPath('.');

async function writePackage(folder: string): Promise<void> {
  const path = join(folder, 'package.json');
  const content = JSON.parse(await readFile(path, 'utf8')) as object;
  const words = basename(resolve(folder))
    .toLowerCase()
    .match(/[a-z0-9]+/g) ?? ['my', 'game'];
  const source = /[/\\]node_modules[/\\]/.test(packageRoot)
    ? `^${version}`
    : `file:${relative(resolve(folder), packageRoot).replaceAll('\\', '/')}`;
  const written = { ...content, name: words.join('-'), dependencies: { turngraph: source } };
  await writeFile(path, `${JSON.stringify(written, undefined, 2)}\n`);
}

/** Does what `npm install` would, without a network: this package and its command are in `node_modules`. */
async function linkPackage(folder: string): Promise<void> {
  const modules = join(folder, 'node_modules');
  await mkdir(join(modules, '.bin'), { recursive: true });
  // A junction, since a symbolic link to a folder needs a permission on Windows.
  await symlink(packageRoot, join(modules, 'turngraph'), 'junction');
  const program = '../turngraph/dist/cli/turngraph.js';
  const bin = join(modules, '.bin', 'turngraph');
  if (process.platform === 'win32') await writeFile(`${bin}.cmd`, `@node "%~dp0${program}" %*\r\n`);
  else await writeFile(bin, `#!/bin/sh\nexec node "$(dirname "$0")/${program}" "$@"\n`, { mode: 0o755 });
}
