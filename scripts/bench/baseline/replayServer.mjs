// Replay server, run as a process: a plain `ws` server that sends a recorded greeting, then for each message the recorded
// frames of its turn.
import { WebSocketServer } from 'ws';

process.once('message', (recording) => {
  const [greeting, ...turns] = recording.map((frames) => frames.map((frame) => Buffer.from(frame)));
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false });
  server.on('listening', () => process.send(server.address().port));
  server.on('connection', (socket) => {
    let next = 0;
    for (const frame of greeting) socket.send(frame);
    socket.on('message', () => {
      for (const frame of turns[next++]) socket.send(frame);
    });
  });
});
process.on('disconnect', () => process.exit());
