// The server that `npm run fuzz -- requests` attacks: turngraph in a process of its own, which measures its event loop.
// The parent asks over IPC: { begin: true } starts a measurement, { end: true } is answered with its figures.
import { monitorMemory, monitorEventLoop } from './monitors.mjs';
import { startServer } from '../../../dist/index.js';

const server = await startServer(JSON.parse(process.argv[2] ?? '{}'));
const eventLoop = monitorEventLoop();
const memory = monitorMemory();

process.on('message', (message) => {
  if (message.end) process.send({ longestHoldMs: eventLoop.take(), peakBytes: memory.takePeak() });
  else {
    eventLoop.take();
    process.send({ begun: true });
  }
});
process.on('disconnect', () => process.exit());
process.send({ url: server.url });
