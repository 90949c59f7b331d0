// The process of a bare `ws` server that answers by rote: the greeting, then to each message the frames of its turn.
import { WebSocketServer } from 'ws';

process.once('message', (recording) => {
  const [greeting, ...answers] = recording.map((frames) => frames.map((frame) => Buffer.from(frame)));
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false });
  server.on('listening', () => process.send(server.address().port));
  server.on('connection', (socket) => {
    let next = 0;
    for (const frame of greeting) socket.send(frame);
    socket.on('message', () => {
      for (const frame of answers[next++]) socket.send(frame);
    });
  });
});
process.on('disconnect', () => process.exit());
