// Serves the page and the graphs. Start it with "npm start".
import { startServer } from 'turngraph';

const server = await startServer({
  port: Number(process.env.PORT ?? 8080),
  page: 'page',
  graphs: 'graphs',
  logLevel: 'warn',
});
console.log(`Open http://127.0.0.1:${server.port} in a browser. Ctrl-C stops the server.`);
process.once('SIGINT', () => server[Symbol.asyncDispose]());
