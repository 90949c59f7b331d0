// The main process: it starts the server, talks to it, and runs the tools. The page only sees what preload.cjs shows it.
//   npx electron examples/electron/main.mjs
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { app, BrowserWindow, ipcMain, utilityProcess } from 'electron';
import { Conversation } from './conversation.mjs';

const pathOf = (file) => fileURLToPath(new URL(file, import.meta.url));

/** Starts a server. `onExit` is called when it has ended after it listened. */
function startServer(token, onExit) {
  const server = utilityProcess.fork(pathOf('server.mjs'), [], { env: { ...process.env, SERVER_TOKEN: token } });
  const port = new Promise((resolve, reject) => {
    server.once('exit', (code) => reject(new Error(`the server ended with ${code} before it listened`)));
    server.once('message', (message) => {
      server.once('exit', onExit);
      resolve(message.port);
    });
  });
  return { port, stop: () => server.kill() };
}

async function start() {
  const window = new BrowserWindow({ webPreferences: { preload: pathOf('preload.cjs') } });
  // A page that was left for another one gets nothing.
  window.webContents.on('will-navigate', (event) => event.preventDefault());
  const tell = (update) => !window.isDestroyed() && window.webContents.send('turngraph:update', update);

  const conversation = new Conversation(tell);
  let server;
  let isQuitting = false;
  const startConversation = async () => {
    // Other programs of this machine can reach the port, and not guess the token.
    const token = randomBytes(32).toString('hex');
    server = startServer(token, () => {
      if (!isQuitting) startConversation().catch((error) => tell({ type: 'error', message: error.message }));
    });
    await conversation.start(`ws://127.0.0.1:${await server.port}`, token);
  };

  ipcMain.handle('turngraph:send', (_event, text) => conversation.send(String(text)));
  ipcMain.handle('turngraph:cancel', () => conversation.cancel());
  app.on('window-all-closed', () => app.quit());
  app.on('before-quit', () => {
    isQuitting = true;
    server.stop();
  });
  await startConversation();
  await window.loadFile(pathOf('index.html'));
}

// Not `await app.whenReady()`: the app is ready only when this module has been evaluated.
app
  .whenReady()
  .then(start)
  .catch((error) => {
    console.error(error);
    app.exit(1);
  });
