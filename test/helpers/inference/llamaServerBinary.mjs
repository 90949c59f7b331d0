#!/usr/bin/env node
// Takes the place of a llama-server binary in tests: passes all requests on to a server of this process's test, whose address is in
// TURNGRAPH_TEST_FORWARD. It writes its arguments to standard error, and ends with an error if one of them is --wrong, or if there is
// a file of the path after --unless.
import { existsSync } from 'node:fs';
import { createServer, request } from 'node:http';

const args = process.argv.slice(2);
console.error(`arguments: ${args.join(' ')}`);
if (args.includes('--wrong') || (args.includes('--unless') && existsSync(args[args.indexOf('--unless') + 1]))) {
  console.error('error: invalid argument: --wrong');
  process.exit(1);
}

createServer((incoming, response) => {
  if (incoming.url === '/health') return response.end('{"status":"ok"}');
  if (incoming.headers.authorization !== `Bearer ${process.env.LLAMA_API_KEY}`) {
    response.statusCode = 401;
    return response.end('{"error": {"message": "Invalid API Key"}}');
  }
  const { method, headers } = incoming;
  const outgoing = request(process.env.TURNGRAPH_TEST_FORWARD + incoming.url, { method, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  response.on('close', () => outgoing.destroy());
  outgoing.on('error', () => response.destroy());
  incoming.pipe(outgoing);
}).listen(Number(args[args.indexOf('--port') + 1]), '127.0.0.1');
