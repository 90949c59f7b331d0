import type { AddressInfo } from 'node:net';
import { createServer, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { HttpConnection } from '../../../../src/inference/remote/connection/httpConnection.ts';
import { isObject } from '../../../../src/base/jsonTypes.ts';

const opened: (() => void)[] = [];
afterEach(() => {
  for (const close of opened.splice(0)) close();
});

const first = 'data: {"n":1}\n\n';
const last = 'data: {"n":2,"stop":true}\n\n';

/** A server whose answers are written by a function; `connections` counts those that were made to it. */
async function open(answer: (response: ServerResponse, nth: number) => void, name?: string) {
  let requests = 0;
  const seen = { connections: 0, closed: 0 };
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', ...(name !== undefined && { server: name }) });
    answer(response, ++requests);
  });
  server.keepAliveTimeout = 0;
  server.on('connection', (socket) => {
    seen.connections++;
    socket.on('close', () => seen.closed++);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const timeouts = { connectMs: 5000, firstByteMs: 5000, idleMs: 5000, retryMs: 1, breakMs: 50, recheckMs: 1000 };
  const connection = new HttpConnection(
    `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    undefined,
    timeouts,
    {},
  );
  opened.push(
    () => connection[Symbol.dispose](),
    () => server.close(),
    () => server.closeAllConnections(),
  );
  return { seen, connection };
}

/** Reads the events of one request, as the engine does: not beyond the last one. */
async function read(
  connection: HttpConnection,
  events = Infinity,
  signal = new AbortController().signal,
): Promise<number> {
  let count = 0;
  const request = { path: '/completion', body: {}, signal };
  for await (const event of connection.events(request, (one) => isObject(one) && one['stop'] === true)) {
    count++;
    if (isObject(event) && event['stop'] === true) break;
    if (count === events) break;
  }
  return count;
}

it('uses one connection for requests that come one after another', async () => {
  const { seen, connection } = await open((response) => {
    response.write(first);
    response.end(last);
  });
  for (let turn = 0; turn < 5; turn++) {
    expect(await read(connection)).toBe(2);
    // The end of the response may come after its last event.
    await sleep(20);
  }
  expect(seen).toMatchObject({ connections: 1, closed: 0 });
});

it('closes the connection of a request that is cancelled', async () => {
  const { seen, connection } = await open((response) => void response.write(first));
  expect(await read(connection, 1)).toBe(1);
  await expect.poll(() => seen.closed).toBe(1);
});

it('closes the connection of a response that goes on after its last event', async () => {
  const { seen, connection } = await open((response) => void response.write(first + last));
  expect(await read(connection)).toBe(2);
  await expect.poll(() => seen.closed, { timeout: 10_000 }).toBe(1);
});

it('closes the connection of a llama-server, which would close it at the moment when the next request is under way', async () => {
  const { seen, connection } = await open((response) => {
    response.write(first + last);
    setImmediate(() => response.destroy());
  }, 'llama.cpp');
  for (let turn = 0; turn < 20; turn++) expect(await read(connection)).toBe(2);
  expect(seen.connections).toBe(20);
});

it('says that another attempt may succeed when the server has closed the kept connection', async () => {
  const { seen, connection } = await open((response, nth) => {
    // As a server does that closes an idle connection at the moment when the next request is under way.
    if (nth === 2) response.destroy();
    else response.end(first + last);
  });
  await read(connection);
  await sleep(20);
  await expect(read(connection)).rejects.toMatchObject({ retryable: true, unreachable: true });
  expect(await read(connection)).toBe(2);
  expect(seen.connections).toBe(2);
});

it('sends many requests at once with one signal, without a warning of Node', async () => {
  const { connection } = await open((response) => response.end(first + last));
  const warnings: Error[] = [];
  const onWarning = (warning: Error): void => void warnings.push(warning);
  process.on('warning', onWarning);
  const { signal } = new AbortController();
  await Promise.all(Array.from({ length: 20 }, () => read(connection, Infinity, signal)));
  await new Promise(setImmediate);
  process.off('warning', onWarning);
  expect(warnings).toEqual([]);
});
