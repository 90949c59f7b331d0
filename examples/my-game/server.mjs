// Serves the page and the graphs. Start it with "npm start".
import { startServer } from 'turngraph';

const port = Number(process.env.PORT ?? 8080);
const folders = { page: 'page', graphs: 'graphs', memory: 'memory' };
const server = await startServer({ port, ...folders, logLevel: 'warn' }).catch((error) => {
  console.error(`${error.message}\nThe environment variable PORT sets another port.`);
  process.exit(1);
});
console.log(`Open http://127.0.0.1:${server.port} in a browser. Ctrl-C stops the server.`);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => server[Symbol.asyncDispose]());
