// A game on Windows: starts and kills programs with its own Node, as `tryWindows.mjs` asks it to over loopback. (Wine gives
// Windows programs the files of Linux as standard streams, but not its pipes.)
//   node.exe game.mjs PORT
import { spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const socket = connect(Number(process.argv[2]), '127.0.0.1');
const folder = mkdtempSync(join(tmpdir(), 'turngraph-game-'));
const children = new Map();
const tell = (message) => socket.write(`${JSON.stringify(message)}\n`);

const orders = {
  /** Starts Node, or with `shell` a command; tells what it prints, and its end. */
  start({ id, program = process.execPath, args, shell = false }) {
    const child = spawn(program, args, { stdio: 'pipe', windowsHide: true, shell });
    children.set(id, child);
    for (const name of ['stdout', 'stderr'])
      createInterface(child[name]).on('line', (line) => tell({ id, [name]: line }));
    child.on('error', (error) => tell({ id, stderr: error.message }));
    // After the last line.
    child.on('close', (code, signal) => tell({ id, ended: code ?? signal }));
  },
  endInput({ id }) {
    children.get(id).stdin.end();
  },
  /** Ends a process as Windows does it: at once. */
  kill({ pid = process.pid }) {
    process.kill(pid, 'SIGKILL');
  },
  /**
   * Tells the Node processes of this system: their ids and those of their parents. The list is written to a file: a pipe stays
   * open while the desktop runs that wmic may start.
   */
  list({ id }) {
    const file = join(folder, 'processes.txt');
    const fd = openSync(file, 'w');
    const args = ['process', 'get', 'Name,ParentProcessId,ProcessId'];
    const child = spawn('wmic', args, { stdio: ['ignore', fd, 'ignore'], windowsHide: true });
    closeSync(fd);
    child.on('error', (error) => tell({ id, error: error.message }));
    child.on('exit', () => {
      const rows = [...readFileSync(file, 'utf16le').matchAll(/node\.exe +(\d+) +(\d+)/g)];
      tell({ id, processes: rows.map(([, parent, pid]) => ({ parent: Number(parent), pid: Number(pid) })) });
    });
  },
};

createInterface(socket).on('line', (line) => {
  const order = JSON.parse(line);
  orders[order.do](order);
});
// The programs that it has started with `--stdin` end with it.
socket.on('close', () => process.exit());
socket.on('connect', () => tell({ pid: process.pid }));
