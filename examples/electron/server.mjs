// The server, in a utility process: a crash of an engine ends this process, and not the app. See docs/security.md, Electron.
import { startServer } from 'turngraph';

const server = await startServer({ port: 0, token: process.env.SERVER_TOKEN, engineProcess: 'in', logLevel: 'warn' });
process.parentPort.postMessage({ port: server.port });
