import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach } from 'vitest';
import { WebSocketServer, type WebSocket as Socket } from 'ws';
import { connect, type AgentHandle, type Client, type ConnectOptions } from '../../src/client/index.ts';
import type { ClientFrame, ServerFrameBodies } from '../../src/protocol/frames.gen.ts';
import { serverCodecs, type Subprotocol } from '../../src/protocol/codec/codec.ts';
import { serverFrame } from '../../src/protocol/codec/frame.ts';

/** Sends a frame with the id of the request that it answers. */
export type SendFrame = <Body extends keyof ServerFrameBodies>(
  body: Body,
  fields?: Partial<ServerFrameBodies[Body]>,
) => void;
/** Answers a request. */
export type ResponseScript = (frame: ClientFrame, send: SendFrame, socket: Socket) => void;

/** Functions that close what a test has opened; called after it in reverse order, in a file that calls `useCleanups`. */
export const cleanups: (() => unknown)[] = [];

/** Registers `cleanups` in a test file. */
export const useCleanups = (): void =>
  afterEach(async () => {
    for (const close of cleanups.splice(0).reverse()) await close();
  });

/** A server that sends sessionReady and then answers each request by the script; `received` lists the requests. */
export async function startFakeServer(
  script: ResponseScript = () => {},
  onConnect: (send: SendFrame, socket: Socket) => void = sendGreeting,
) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  cleanups.push(() => server.close());
  const received: ClientFrame[] = [];
  const handshakes: { readonly url: string | undefined; readonly authorization: string | undefined }[] = [];
  server.on('connection', (socket, { url, headers }) => {
    cleanups.push(() => socket.terminate());
    handshakes.push({ url, authorization: headers.authorization });
    const codec = serverCodecs[socket.protocol as Subprotocol];
    let seq = 0;
    const createSend =
      (requestId: number): SendFrame =>
      (body, fields) =>
        socket.send(codec.encode(serverFrame(requestId, body === 'sessionReady' ? 0 : ++seq, body, fields)));
    socket.on('message', (data: Buffer, isBinary) => {
      const decoded = codec.decode(isBinary ? data : data.toString());
      if (!decoded.ok) throw decoded.fault;
      received.push(decoded.frame);
      script(decoded.frame, createSend(decoded.frame.requestId), socket);
    });
    onConnect(createSend(0), socket);
  });
  return { url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`, received, handshakes };
}

/** Sends the first frame of a real server. */
export const sendGreeting = (send: SendFrame): void =>
  send('sessionReady', { protocolVersion: 1, sessionId: 's1', serverVersion: '0.1.0' });

/** A fake server and a client that is connected to it. */
export async function connectToFakeServer(script: ResponseScript, options: ConnectOptions = {}) {
  const server = await startFakeServer(script);
  const client = await connect(server.url, options);
  cleanups.push(() => client.close());
  return { ...server, client };
}

/** Creates an agent on a server with the script `acceptAgents`. */
export const createTestAgent = (client: Client): Promise<AgentHandle> => client.createAgent({ graph: { nodes: {} } });
/** Answers createAgent, and nothing else. */
export const acceptAgents: ResponseScript = (frame, send) =>
  frame.body === 'createAgent' && send('createAgent', { agentId: 5, warnings: ['w'] });
