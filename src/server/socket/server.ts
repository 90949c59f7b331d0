import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { randomBytes } from 'node:crypto';
import { once, setMaxListeners } from 'node:events';
import { resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { closeCodes } from '../../protocol/closeCodes.ts';
import type { ServerOptions } from '../config.ts';
import { Fault } from '../../protocol/fault.ts';
import type { ServerContext } from '../session/session.ts';
import { RequestQueues } from '../session/requestQueue.ts';
import { Sessions } from '../session/sessions.ts';
import { isLoopback } from './access.ts';
import { Acceptor, type AcceptorParts } from './acceptor.ts';
import { answerHttp, isWebSocketRequest } from './http.ts';
import { folderPage, noPage, playgroundPage } from './pageFiles.ts';
import { defaultSendBufferLimits, type SendBufferLimits } from '../sendBuffer.ts';
import { createRejectionLog, createRequestLog } from './rejectionLog.ts';

/** A running server. Disposing of it gives running turns 5 s to end, closes all connections and frees all models. */
export interface TurngraphServer extends AsyncDisposable {
  /** The TCP port it listens on. */
  readonly port: number;
  /** ws://HOST:PORT */
  readonly url: string;
}

/** Settings that are no flags of `serve`. */
export interface ListenSettings {
  /** Aborted by the server with SERVER_SHUTTING_DOWN when it begins to shut down. */
  readonly closing: AbortController;
  /** Backpressure of each connection; default: `defaultSendBufferLimits`. */
  readonly sendBuffer?: SendBufferLimits;
  /** Milliseconds that running turns get to end at shutdown, before they are cancelled; default: 5,000. */
  readonly graceMs?: number;
}

type ServerParts = Awaited<ReturnType<typeof createParts>>;

/** Accepts WebSockets on "/", and HTTP. @throws Fault UNAUTHORIZED: no loopback, no token; Error: port taken. */
export async function listen(
  context: ServerContext,
  options: ServerOptions,
  { closing, sendBuffer = defaultSendBufferLimits, graceMs = 5_000 }: ListenSettings,
): Promise<TurngraphServer> {
  assertTokenOrLoopback(options);
  // Each load of a pinned model adds a listener; Node warns of a leak above ten.
  setMaxListeners(0, closing.signal);
  const logRejection = createRejectionLog(context.log);
  const parts = await createParts(context, options, { sendBuffer, logRejection });
  const { acceptor, api } = parts;
  exportGauges(parts);
  const page = options.page !== '' ? folderPage(options.page) : options.playground ? playgroundPage : noPage;
  const servers = await bind(options, (server) => {
    const answer = answerHttp(acceptor.checkAccess, context, { api, findFull: acceptor.findFull, page });
    // Without the last two, Node asks for the body of a request, or answers it itself.
    for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) server.on(event, answer);
    server.on('connection', acceptor.anonymous.add);
    server.on('upgrade', (...args) => acceptor.upgrade(server, ...args));
  });
  // Without a listener Node ends the process, for example when no file handle is free for a new connection.
  for (const server of servers)
    server.on('error', ({ message: reason }) => logRejection({ reason }, 'connection not accepted'));
  const { host } = options;
  const { port } = servers[0].address() as AddressInfo;
  const url = `ws://${host.includes(':') ? `[${host}]` : host}:${port}`;
  context.log.info({ url, port, host, ...pathsOf(options) }, 'listening');
  return {
    port,
    url,
    async [Symbol.asyncDispose]() {
      closing.abort(new Fault('SERVER_SHUTTING_DOWN', 'the server is shutting down; connect again later'));
      await shutDown(parts, servers, graceMs);
    },
  };
}

function assertTokenOrLoopback({ host, token }: ServerOptions): void {
  const problem =
    'has a line break, another control character, or spaces around it, which no header carries; remove them';
  if (token !== token.trim() || /\p{Cc}/u.test(token))
    throw new Fault('UNAUTHORIZED', `--token (TURNGRAPH_TOKEN) ${problem}`);
  if (token !== '' || isLoopback(host)) return;
  const hint = 'set --token or TURNGRAPH_TOKEN';
  throw new Fault('UNAUTHORIZED', `--host ${host} can be reached from other machines: ${hint}`);
}

async function createParts(
  context: ServerContext,
  options: ServerOptions,
  { sendBuffer, logRejection }: Pick<AcceptorParts, 'sendBuffer' | 'logRejection'>,
) {
  const { maxQueuedBytes: connectionBytes, maxTotalQueuedBytes: totalBytes } = options;
  const requestQueues = new RequestQueues({ connectionBytes, totalBytes });
  // A log of its own: one client with many wrong requests must not suppress the lines about others.
  const logRefusedRequest = createRejectionLog(context.log);
  const sessions = new Sessions({
    serverName: options.serverName || randomBytes(4).toString('hex'),
    context,
    requestQueues,
    graceMs: options.resumeGrace * 1000,
    maxReplayBytes: options.maxReplayBytes,
    maxDetached: options.maxConnections,
    logRequests: (session) => createRequestLog(session, context.log, logRefusedRequest),
  });
  const runningRequests = (): number => api?.running ?? 0;
  const acceptor = new Acceptor({ context, options, sessions, sendBuffer, logRejection, runningRequests });
  // Imported on demand, as few servers have it.
  const api = options.openai
    ? new (await import('../openai/api.ts')).OpenAiApi({
        context,
        findExcess: acceptor.checkCapacity,
        onAdmitted: acceptor.anonymous.remove,
        sendBuffer,
        onRefused: (facts) => logRefusedRequest(facts, 'request of the OpenAI-compatible API refused'),
      })
    : undefined;
  return { context, acceptor, sessions, requestQueues, api };
}

function exportGauges({ context, acceptor, sessions, requestQueues, api }: ServerParts): void {
  const { connections } = acceptor;
  context.metrics.onScrape((set) => {
    const outputs = [...[...connections].map(({ output }) => output), ...(api?.outputs ?? [])];
    const unsentBytes = outputs.reduce((sum, { unsent }) => sum + unsent, 0);
    set('turngraph_connections', {}, connections.size);
    set('turngraph_unsent_bytes', {}, unsentBytes);
    set('turngraph_detached_sessions', {}, sessions.detached);
    set('turngraph_replay_bytes', {}, sessions.replayBytes);
    set('turngraph_queued_request_bytes', {}, requestQueues.bytes);
    set('turngraph_paused_connections', {}, requestQueues.pausedConnections);
    set('turngraph_slow_readers', {}, outputs.filter((output) => output.drained()).length);
  });
}

async function shutDown(
  { context, acceptor: { connections }, sessions, api }: ServerParts,
  servers: readonly Server[],
  graceMs: number,
): Promise<void> {
  context.log.info({ connections: connections.size }, 'shutting down');
  // Downloads are not waited for: the next one resumes from the partial file.
  await context.downloads[Symbol.asyncDispose]();
  await Promise.race([Promise.all([sessions.drain(), api?.idle()]), wait(graceMs, undefined, { ref: false })]);
  await Promise.all(
    [...connections].map((connection) => connection.close(closeCodes.goingAway, 'the server shuts down')),
  );
  await sessions[Symbol.asyncDispose]();
  await api?.[Symbol.asyncDispose]();
  await Promise.all(servers.map(closeHttpServer));
  for (const part of [context.vectors, ...Object.values(context.pools)]) await part[Symbol.asyncDispose]();
}

// Absolute, because the working directory of a started server is not always known.
function pathsOf({ graphs, models, catalogue, cache, storageRoot }: ServerOptions): object {
  const paths = { graphs, models, catalogue, cache, storageRoot: storageRoot || graphs };
  return Object.fromEntries(Object.entries(paths).map(([name, path]) => [name, resolve(path)]));
}

const closeHttpServer = (server: Server): Promise<unknown> => {
  const closed = new Promise((done) => server.close(done));
  // Closes idle keep-alive connections; upgraded sockets are not among them.
  server.closeAllConnections();
  return closed;
};

type BindOptions = Pick<ServerOptions, 'host' | 'port' | 'maxConnections' | 'handshakeTimeout'>;

/**
 * Creates the HTTP servers and listens: on 127.0.0.1 and ::1 when the host is one of them, because browsers resolve
 * localhost to either. A machine without the other loopback address is no error.
 * @param prepare is called for each server before it listens.
 * @throws Error with a hint when the port is taken or the address cannot be used.
 */
async function bind(options: BindOptions, prepare: (server: Server) => void): Promise<readonly [Server, ...Server[]]> {
  const main = await bindTo(options, prepare);
  const twinHost = loopbackTwins.get(options.host);
  if (twinHost === undefined) return [main];
  const { port } = main.address() as AddressInfo;
  const twin = await bindTo({ ...options, host: twinHost, port }, prepare).catch(() => undefined);
  return twin ? [main, twin] : [main];
}

const loopbackTwins = new Map([
  ['127.0.0.1', '::1'],
  ['::1', '127.0.0.1'],
]);

type Address = Pick<BindOptions, 'host' | 'port'>;

const bindHints: Readonly<Record<string, (address: Address) => string>> = {
  EADDRINUSE: ({ port }) => `port ${port} is taken: another server has it; give another --port`,
  EADDRNOTAVAIL: ({ host }) => `--host ${host} is no address of this machine; 127.0.0.1 is, and 0.0.0.0 means all`,
  ENOTFOUND: ({ host }) => `--host ${host} is an unknown name; give an address of this machine`,
  EACCES: ({ port }) => `port ${port} may not be opened by this user; give a --port of 1024 or above`,
};

const slowReaderTimeoutMs = 30_000;

async function bindTo(
  { host, port, maxConnections, handshakeTimeout }: BindOptions,
  prepare: (server: Server) => void,
): Promise<Server> {
  const requestTimeout = handshakeTimeout * 1000;
  const timeouts = { headersTimeout: requestTimeout, requestTimeout, keepAliveTimeout: 5_000 };
  // An idle server does as little as it can: a late check lengthens the time of a slow client by a half at most.
  const checks = { connectionsCheckingInterval: requestTimeout / 2, shouldUpgradeCallback: isWebSocketRequest };
  const server = createServer({ ...timeouts, ...checks });
  // Without progress of a response. A WebSocket has timeouts of its own.
  server.timeout = slowReaderTimeoutMs;
  // Rejecting a connection takes a while.
  server.maxConnections = 4 * maxConnections;
  server.maxRequestsPerSocket = 100;
  // Only a client that sends many requests before it has read a response.
  server.on('dropRequest', (_, socket) => socket.destroy());
  prepare(server);
  await once(server.listen({ host, port }), 'listening').catch((error: NodeJS.ErrnoException) => {
    const hint = bindHints[error.code ?? '']?.({ host, port });
    throw hint === undefined ? error : new Error(hint, { cause: error });
  });
  return server;
}
