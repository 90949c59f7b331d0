import { setImmediate as nextRound } from 'node:timers/promises';
import { clientCodecs } from '../../../src/protocol/codec/codec.ts';
import { clientFrame } from '../../../src/protocol/codec/frame.ts';
import { ConformanceFailure, expectEqual } from '../../expect.ts';
import { CheckedConnection } from '../connection.ts';
import { answered, expectAnswer, expectError } from '../requests.ts';
import type { ServerCheck, ServerUnderTest } from '../serverUnderTest.ts';

const maxFrameBytes = 1024 * 1024;
const maxFragments = 256;

/** A request of exactly so many bytes; it has the id 7 and is refused for its name. */
function requestOf(server: ServerUnderTest, bytes: number): string | Uint8Array {
  const codec = clientCodecs[server.subprotocol];
  const encode = (length: number) =>
    codec.encode(clientFrame(7, 'createStringStorage', { name: 'x'.repeat(length), strings: ['a'] }));
  const overhead = Buffer.byteLength(encode(bytes / 2)) - bytes / 2;
  return encode(bytes - overhead);
}

/** Sends text or bytes in so many WebSocket fragments. */
function sendFragments(connection: CheckedConnection, data: string | Uint8Array, count: number): void {
  const bytes = Buffer.from(data);
  const binary = typeof data !== 'string';
  for (let index = 0; index < count; index++) {
    const end = index === count - 1 ? bytes.length : index + 1;
    connection.socket.send(bytes.subarray(index, end), { binary, fin: index === count - 1, compress: false });
  }
}

/** WebSocket: sizes, fragments, pings, ends. */
export const transportChecks: readonly ServerCheck[] = [
  {
    name: 'A frame of 1 MiB is read',
    section: 'Frame sizes',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      connection.sendBytes(requestOf(server, maxFrameBytes), { requestId: 7, body: 'createStringStorage' });
      expectError(await connection.answerTo(7), 'INVALID_STRING_STORAGE_NAME', 'a name of a megabyte');
      connection.continueAfter(7);
      await answered(connection, ['listModels'], 'listModels');
    },
  },
  {
    name: 'A frame above 1 MiB is answered with error 5003 and close 1009',
    section: 'Frame sizes',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      connection.sendBytes(requestOf(server, maxFrameBytes + 2));
      const answer = await connection.waitFor(() => true, 'error 5003', 1);
      expectError(answer, 'FRAME_TOO_LARGE', 'a frame above 1 MiB');
      expectEqual('requestId and seq of the error', [answer.requestId, answer.seq], [0, 0], 'ServerFrame');
      expectEqual('close', (await connection.untilClosed()).code, 1009, 'Close codes');
    },
  },
  {
    name: 'A message in 256 fragments is read, and one in 257 ends the connection with close 1008',
    section: 'Limits',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const codec = clientCodecs[server.subprotocol];
      const names = 'x'.repeat(300);
      const request = (id: number) => codec.encode(clientFrame(id, 'createStringStorage', { name: names }));
      connection.trace.sent(7, 'createStringStorage');
      sendFragments(connection, request(7), maxFragments);
      expectError(await connection.answerTo(7), 'INVALID_STRING_STORAGE_NAME', 'a name of 300 characters');
      sendFragments(connection, request(8), maxFragments + 1);
      expectEqual('close', (await connection.untilClosed()).code, 1008);
    },
  },
  {
    name: 'A ping is answered with a pong of the same content',
    section: 'Keepalive',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const { socket } = connection;
      const pong = await new Promise<Buffer | undefined>((resolve) => {
        const timer = setTimeout(resolve, server.timeoutMs, undefined);
        const end = (content?: Buffer): void => {
          clearTimeout(timer);
          resolve(content);
        };
        socket.once('pong', (content: Buffer) => end(content));
        socket.once('close', () => end());
        socket.ping('turngraph');
      });
      if (!pong) throw new ConformanceFailure('a pong', `none within ${server.timeoutMs / 1000} s`);
      expectEqual('content of the pong', pong.toString(), 'turngraph');
    },
  },
  {
    name: 'A client that closes with 1000 is answered with 1000',
    section: 'Close codes',
    async run(server) {
      const connection = await CheckedConnection.open(server);
      connection.socket.close(1000);
      expectEqual('close', (await connection.untilClosed()).code, 1000);
    },
  },
  {
    name: 'Invalid WebSocket traffic ends the connection with close 1002',
    section: 'Close codes',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      // A frame with the reserved opcode 3, masked and empty.
      connection.tcp.write(Uint8Array.of(0x83, 0x80, 0, 0, 0, 0));
      expectEqual('close', (await connection.untilClosed()).code, 1002);
    },
  },
  {
    name: 'A frame that arrives byte by byte is read',
    section: 'Connecting',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const codec = clientCodecs[server.subprotocol];
      const payload = Buffer.from(codec.encode(clientFrame(7, 'listModels')));
      // A mask of zeros leaves the payload as it is.
      const bytes = [codec.binary ? 0x82 : 0x81, 0x80 + payload.length, 0, 0, 0, 0, ...payload];
      connection.trace.sent(7, 'listModels');
      for (const byte of bytes) {
        connection.tcp.write(Uint8Array.of(byte));
        await nextRound();
      }
      expectAnswer(await connection.answerTo(7), 'listModels', 'listModels');
    },
  },
];
