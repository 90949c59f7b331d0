import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach } from 'vitest';
import { WebSocketServer, type WebSocket as Socket } from 'ws';
import { connect, type AgentHandle, type Client, type ConnectOptions } from '../../src/client/index.ts';
import type { ClientFrame, ServerFrameBodies } from '../../src/frames.gen.ts';
import { serverCodecs, type Subprotocol } from '../../src/wire/codec.ts';
import { serverFrame } from '../../src/wire/frame.ts';

/** Sends a frame under the request that it answers, or unasked. */
export type SendFrame = <Body extends keyof ServerFrameBodies>(
  body: Body,
  fields?: Partial<ServerFrameBodies[Body]>,
) => void;
/** What a server does with a request. */
export type ResponseScript = (frame: ClientFrame, say: SendFrame, socket: Socket) => void;

/** What a test has opened, closed after it in the reverse order. */
export const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of cleanups.splice(0).reverse()) await close();
});

/** A server that greets and then answers each request as the script says; `heard` lists the requests. */
export async function startFakeServer(
  script: ResponseScript = () => {},
  greet: (say: SendFrame, socket: Socket) => void = sendGreeting,
) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  cleanups.push(() => server.close());
  const heard: ClientFrame[] = [];
  const asked: { readonly url: string | undefined; readonly authorization: string | undefined }[] = [];
  server.on('connection', (socket, { url, headers }) => {
    cleanups.push(() => socket.terminate());
    asked.push({ url, authorization: headers.authorization });
    const codec = serverCodecs[socket.protocol as Subprotocol];
    let seq = 0;
    const saying =
      (requestId: number): SendFrame =>
      (body, fields) =>
        socket.send(codec.encode(serverFrame(requestId, body === 'sessionReady' ? 0 : ++seq, body, fields)));
    socket.on('message', (data: Buffer, isBinary) => {
      const decoded = codec.decode(isBinary ? data : data.toString());
      if (!decoded.ok) throw decoded.fault;
      heard.push(decoded.frame);
      script(decoded.frame, saying(decoded.frame.requestId), socket);
    });
    greet(saying(0), socket);
  });
  return { url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`, heard, asked };
}

/** The frame that a real server begins with. */
export const sendGreeting = (say: SendFrame): void =>
  say('sessionReady', { protocolVersion: 1, sessionId: 's1', serverVersion: '0.1.0' });

/** A client of such a server. */
export async function connectToFakeServer(script: ResponseScript, options: ConnectOptions = {}) {
  const server = await startFakeServer(script);
  const client = await connect(server.url, options);
  cleanups.push(() => client.close());
  return { ...server, client };
}

/** Any agent of a server that plays `made`. */
export const createTestAgent = (client: Client): Promise<AgentHandle> => client.createAgent({ graph: { nodes: {} } });
/** Makes an agent when asked to, and nothing else. */
export const acceptAgents: ResponseScript = (frame, say) =>
  frame.body === 'createAgent' && say('createAgent', { agentId: 5, warnings: ['w'] });
