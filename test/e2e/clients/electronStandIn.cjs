// Stands in for the module `electron`, so that the example's own code runs in Node: its main process, its preload script and
// the script of its page, on a document of two inputs and a log. Windows, sandboxes and Chromium are not here.
const { fork } = require('node:child_process');
const { EventEmitter } = require('node:events');
const { readFileSync } = require('node:fs');
const { dirname, join } = require('node:path');
const { createInterface } = require('node:readline');
const { runInNewContext } = require('node:vm');

const app = new EventEmitter();
app.whenReady = () => new Promise((resolve) => setImmediate(resolve));
app.quit = () => {
  app.emit('before-quit');
  app.exit(0);
};
app.exit = (code) => process.exit(code);

const handlers = new Map();
const toPage = new EventEmitter();

exports.app = app;
exports.ipcMain = { handle: (channel, handler) => handlers.set(channel, handler) };
exports.ipcRenderer = {
  // What passes between the processes is cloned, and an error arrives as another one with its message.
  async invoke(channel, ...values) {
    return structuredClone(await handlers.get(channel)({}, ...structuredClone(values)));
  },
  on: (channel, listener) => toPage.on(channel, listener),
};
const exposed = {};
exports.contextBridge = { exposeInMainWorld: (name, api) => (exposed[name] = api) };

/** The server process that runs last. */
let server;
exports.utilityProcess = {
  fork(path, args, { env }) {
    server = fork(join(__dirname, 'utility.mjs'), [path, ...args], { env });
    return server;
  },
};
// Electron ends its utility processes with the app.
process.on('exit', () => server?.kill());

exports.BrowserWindow = class {
  webContents = Object.assign(new EventEmitter(), {
    send: (channel, value) => toPage.emit(channel, {}, structuredClone(value)),
  });
  #preload;

  constructor({ webPreferences }) {
    this.#preload = webPreferences.preload;
  }

  isDestroyed() {
    return false;
  }

  async loadFile(path) {
    require(this.#preload);
    const elements = new Map();
    const querySelector = (selector) => {
      const element = elements.get(selector) ?? Object.assign(new EventEmitter(), { value: '' });
      element.append = (text) => process.stdout.write(text);
      element.addEventListener = element.on;
      return elements.set(selector, element).get(selector);
    };
    const [, script] = /<script src="([^"]+)">/.exec(readFileSync(path, 'utf8'));
    runInNewContext(readFileSync(join(dirname(path), script), 'utf8'), {
      window: exposed,
      document: { querySelector },
    });
    process.stdout.write('the page is open\n');
    // What a user would do, and a crash.
    createInterface({ input: process.stdin }).on('line', (line) => {
      if (line === 'crash') server.kill('SIGKILL');
      else if (line === 'cancel') querySelector('#cancel').emit('click');
      else if (line === 'quit') app.emit('window-all-closed');
      else {
        querySelector('#text').value = line;
        querySelector('#form').emit('submit', { preventDefault: () => undefined });
      }
    });
  }
};
