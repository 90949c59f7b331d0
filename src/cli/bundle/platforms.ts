import type { BundleFile } from './bundlePart.ts';

/** The systems that a bundle can be made for. */
export const bundlePlatforms = ['linux-x64', 'linux-arm64', 'win-x64', 'win-arm64', 'mac-arm64', 'mac-x64'] as const;

export type BundlePlatform = (typeof bundlePlatforms)[number];

/** The backends that a bundle can have: `off` = the CPU only. */
export const bundleGpus = ['off', 'vulkan', 'cuda', 'metal'] as const;

export type BundleGpu = (typeof bundleGpus)[number];

/**
 * The npm packages with the llama.cpp library of each system, by backend. Those of a graphics card come
 * with that of the CPU: a computer without that card uses it.
 */
const libraries: Readonly<Record<BundlePlatform, Readonly<Partial<Record<BundleGpu, readonly string[]>>>>> = {
  'linux-x64': { off: ['linux-x64'], vulkan: ['linux-x64', 'linux-x64-vulkan'], cuda: ['linux-x64', 'linux-x64-cuda'] },
  'linux-arm64': { off: ['linux-arm64'] },
  'win-x64': { off: ['win-x64'], vulkan: ['win-x64', 'win-x64-vulkan'], cuda: ['win-x64', 'win-x64-cuda'] },
  'win-arm64': { off: ['win-arm64'] },
  'mac-arm64': { off: ['mac-arm64-metal'], metal: ['mac-arm64-metal'] },
  'mac-x64': { off: ['mac-x64'] },
};

/** The packages with the llama.cpp library. @throws Error that names the backends of the system, where it has not this one. */
export function libraryPackagesOf(platform: BundlePlatform, gpu: BundleGpu): readonly string[] {
  const names = libraries[platform][gpu];
  if (names) return names.map((name) => `@node-llama-cpp/${name}`);
  const available = Object.keys(libraries[platform]).join(', ');
  throw new Error(`--gpu ${gpu}: there is no llama.cpp library for ${gpu} on ${platform}; there is ${available}`);
}

const systems: Readonly<Record<string, string>> = { linux: 'linux', win32: 'win', darwin: 'mac' };

/** The name of a system as Node has it; undefined where no bundle can be made for it. */
export function platformOf({ platform, arch }: { readonly platform: string; readonly arch: string }) {
  const name = `${systems[platform] ?? platform}-${arch}`;
  return bundlePlatforms.find((known) => known === name);
}

export const isWindows = (platform: BundlePlatform): boolean => platform.startsWith('win-');

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
