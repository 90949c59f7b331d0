import type { BundleFile } from './bundlePart.ts';
import { isWindows, type BundlePlatform } from './platforms.ts';

/** The folder of a bundle with Node and the program. */
export const runtimeFolder = 'runtime';

/** The name of Node in the runtime folder. */
export const nodeFileOf = (platform: BundlePlatform): string => (isWindows(platform) ? 'node.exe' : 'node');

/** The file at the top of a bundle that starts it. */
export const startFileOf = (platform: BundlePlatform): string => (isWindows(platform) ? 'turngraph.cmd' : 'turngraph');

/** The file that starts a bundle, and the module that it starts Node with. */
export const startFiles = (platform: BundlePlatform): readonly BundleFile[] => [
  { path: startFileOf(platform), content: { text: isWindows(platform) ? command : script }, isExecutable: true },
  { path: `${runtimeFolder}/turngraph.mjs`, content: { text: entryModule } },
];

// `command -p` finds readlink where PATH is empty; only a symbolic link needs it. `exec`: the process is Node's.
const script = `#!/bin/sh
# Starts turngraph with the Node of this folder. It changes neither the working directory nor PATH, and needs neither.
file=$0
case $file in
*/*) ;;
*) file=./$file ;;
esac
while [ -L "$file" ]; do
  target=$(command -p readlink "$file") || exit 1
  case $target in
  /*) file=$target ;;
  *) file=\${file%/*}/$target ;;
  esac
done
exec "\${file%/*}/${runtimeFolder}/node" "\${file%/*}/${runtimeFolder}/turngraph.mjs" "$@"
`;

const command = [
  `@"%~dp0${runtimeFolder}\\node.exe" "%~dp0${runtimeFolder}\\turngraph.mjs" %*`,
  '@exit /b %errorlevel%',
  '',
].join('\r\n');

const entryModule = `// The command line of turngraph, with the graphs and the models of this folder unless a flag or a variable names others.
// Its server logs to a file of the user, since a game shows no terminal.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import envPaths from 'env-paths';

const pathOf = (name) => fileURLToPath(new URL(name, import.meta.url));
process.env.TURNGRAPH_GRAPHS ||= pathOf('../graphs');
process.env.TURNGRAPH_CATALOGUE ||= pathOf('../models.json');
process.env.TURNGRAPH_LOG_FILE ||= join(envPaths('turngraph', { suffix: '' }).log, 'server.log');
process.env.TURNGRAPH_MEMORY ||= join(envPaths('turngraph', { suffix: '' }).data, 'memory');
await import(new URL('node_modules/turngraph/dist/cli/turngraph.js', import.meta.url));
`;
