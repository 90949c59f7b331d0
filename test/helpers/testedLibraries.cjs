// Loaded into each Node process of the tests, by `NODE_OPTIONS` (test/helpers/testLibrariesOnce.ts). node-llama-cpp tests a
// llama.cpp library in a process of its own whenever a process opens it, which takes longer than to load it. Here a library
// that has passed is not tested again in this run of the tests: the same file, for the same backend, in the same environment.
const childProcess = require('node:child_process');
const { createHash } = require('node:crypto');
const { EventEmitter } = require('node:events');
const { existsSync, statSync, writeFileSync } = require('node:fs');
const { syncBuiltinESMExports } = require('node:module');
const { join } = require('node:path');
const { setFlagsFromString } = require('node:v8');

const { fork } = childProcess;
const folder = process.env.TURNGRAPH_TESTED_LIBRARIES;

/** The file that says that a library has passed. */
function recordOf({ bindingBinaryPath, extBackendsPath, gpu }) {
  const { size, mtimeMs, ino } = statSync(bindingBinaryPath);
  const environment = Object.entries(process.env).filter(([name]) =>
    /^(?:LD_|DYLD_|GGML_|LLAMA_|CUDA_|VK_)/.test(name),
  );
  const subject = [bindingBinaryPath, extBackendsPath, gpu, size, mtimeMs, ino, environment.sort()];
  return join(folder, createHash('sha256').update(JSON.stringify(subject)).digest('hex'));
}

/** The process that tests a library, which is started only when no record says that the library has passed. */
class LibraryTest extends EventEmitter {
  exitCode = null;
  killed = false;
  #start;
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #process;

  constructor(start) {
    super();
    this.#start = start;
    this.#tell({ type: 'ready' });
  }

  send(message) {
    if (this.#process) return this.#process.send(message);
    if (message.type === 'start') {
      const record = recordOf(message);
      if (existsSync(record)) this.#tell({ type: 'loaded' });
      else this.#test(message, record);
    } else if (message.type === 'test') this.#tell({ type: 'done' });
    else setImmediate(() => this.#end(0));
    return true;
  }

  kill(signal) {
    this.killed = true;
    return this.#process?.kill(signal) ?? true;
  }

  #test(start, record) {
    this.#process = this.#start();
    this.#process.on('message', (message) => {
      if (message.type === 'done') writeFileSync(record, '');
      if (message.type === 'ready') this.#process.send(start);
      else this.emit('message', message);
    });
    this.#process.on('exit', (code) => this.#end(code));
  }

  #tell(message) {
    setImmediate(() => this.emit('message', message));
  }

  #end(code) {
    this.exitCode = code;
    this.emit('exit', code);
  }
}

// Most of these processes end before code that V8 optimizes has paid for it: it begins later (default: 132 kB). Newer releases have
// no such flag.
const hasFlag = process.versions.node.startsWith('20.');
if (hasFlag && folder && !/[\\/]vitest[\\/]/.test(process.argv[1] ?? ''))
  setFlagsFromString('--interrupt-budget=1000000');

if (folder) {
  childProcess.fork = (file, ...rest) =>
    /[\\/]testBindingBinary\.js$/.test(String(file)) ? new LibraryTest(() => fork(file, ...rest)) : fork(file, ...rest);
  syncBuiltinESMExports();
}
