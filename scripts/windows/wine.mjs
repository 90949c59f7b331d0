// Programs for Windows under Wine, in a prefix of its own.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { withTimeout } from '../stress/timeouts.mjs';

/** Not `execFile`, which waits until what has been started in the background closes its output, too. */
async function run(program, args, options) {
  const child = spawn(program, args, { ...options, stdio: 'ignore' });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}`);
}

const gameFile = fileURLToPath(new URL('game.mjs', import.meta.url));

/** The version of Wine; undefined: there is none. */
export const wineVersion = () =>
  promisify(execFile)('wine', ['--version'], { env: { ...process.env, WINEDEBUG: '-all' } }).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  );

/** A path of Linux as Windows programs see it. */
export const windowsPath = (path) => `Z:${path.replaceAll('/', '\\')}`;

/**
 * A new prefix of Windows 10, the system that Node asks for.
 * @param env additional environment variables of its programs.
 */
export async function createPrefix(folder, env) {
  const all = { ...process.env, LC_ALL: 'C.UTF-8', ...env, WINEPREFIX: join(folder, 'prefix'), WINEDEBUG: '-all' };
  // No window, and no offers to install .NET and a browser engine.
  const options = { env: { ...all, DISPLAY: '', WINEDLLOVERRIDES: 'mscoree,mshtml=' } };
  await run('wineboot', ['--init'], options);
  const version = ['add', 'HKCU\\Software\\Wine', '/v', 'Version', '/d', 'win10', '/f'];
  await run('wine', ['reg', ...version], options);
  return {
    /** Starts a game with the Node of a bundle. */
    startGame: (bundle) => startGame(join(bundle, 'runtime/node.exe'), folder, options),
    /** Ends all that runs in it, and leaves the folder. */
    async end() {
      await run('wineserver', ['-k'], options).catch(() => undefined);
      await run('wineserver', ['-w'], options);
    },
  };
}

let games = 0;

/** Starts `game.mjs` with a Node for Windows. */
async function startGame(node, folder, options) {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const connected = new Promise((resolve) => listener.once('connection', resolve));
  // Files: Wine makes no standard streams of the pipes of Linux.
  const output = join(folder, `game-${++games}.txt`);
  const fd = openSync(output, 'w');
  const child = spawn('wine', [node, windowsPath(gameFile), String(listener.address().port)], {
    ...options,
    stdio: ['ignore', fd, fd],
  });
  closeSync(fd);
  const failed = new Promise((_, fail) => {
    child.once('error', fail);
    child.once('exit', (code) => fail(new Error(`the game ended with ${code}`)));
  });
  failed.catch(() => undefined);
  const socket = await withTimeout(90, 'the start of the game', Promise.race([connected, failed])).catch(
    async (error) => {
      throw new Error(`${error.message}: ${await readFile(output, 'utf8')}`);
    },
  );
  listener.close();
  socket.on('error', () => undefined);
  const game = new Game(socket);
  await game.started;
  return game;
}

/** A game, which starts and kills programs. */
class Game {
  #socket;
  #listeners = new Map();
  #lastId = 0;
  /** Its process id, from when it has started. */
  pid = 0;

  constructor(socket) {
    this.#socket = socket;
    this.started = new Promise((resolve) => {
      this.#listeners.set(undefined, ({ pid }) => resolve((this.pid = pid)));
    });
    createInterface(socket).on('line', (line) => {
      const { id, ...message } = JSON.parse(line);
      this.#listeners.get(id)?.(message);
    });
  }

  #tell(order) {
    this.#socket.write(`${JSON.stringify(order)}\n`);
  }

  /** Starts Node, or the command `program` in a shell. */
  start(args, program) {
    const id = ++this.#lastId;
    const lines = { stdout: [], stderr: [] };
    let onLine = () => undefined;
    const ended = new Promise((resolve) => {
      this.#listeners.set(id, ({ stdout, stderr, ended }) => {
        if (stdout !== undefined) lines.stdout.push(stdout);
        if (stderr !== undefined) lines.stderr.push(stderr);
        onLine();
        if (ended !== undefined) resolve(ended);
      });
    });
    this.#tell({ do: 'start', id, args, ...(program && { program, shell: true }) });
    return {
      lines,
      /** Its exit code. */
      ended,
      /** The first line that it prints. @throws Error with what it says, if it ends before. */
      firstLine: () =>
        Promise.race([
          new Promise((resolve) => {
            onLine = () => lines.stdout.length > 0 && resolve(lines.stdout[0]);
            onLine();
          }),
          ended.then((code) => Promise.reject(new Error(`it ended with ${code}: ${lines.stderr.join('; ')}`))),
        ]),
      endInput: () => this.#tell({ do: 'endInput', id }),
    };
  }

  /** Ends a process as Windows does it, at once; default: the game itself. */
  kill(pid) {
    this.#tell({ do: 'kill', pid });
  }

  /** The processes of Node in this prefix. @returns {Promise<readonly { pid: number, parent: number }[]>} */
  async processes() {
    const id = ++this.#lastId;
    const { processes, error } = await new Promise((resolve) => {
      this.#listeners.set(id, resolve);
      this.#tell({ do: 'list', id });
    });
    if (error) throw new Error(`no list of processes: ${error}`);
    return processes;
  }
}
