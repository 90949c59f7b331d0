import { expectEqual, expectThat, shown } from '../../expect.ts';
import { CheckedConnection } from '../connection.ts';
import { expectError } from '../requests.ts';
import type { ServerCheck } from '../serverUnderTest.ts';

/** Without it no other check can be made. */
export const connectCheck: ServerCheck = {
  name: 'The server can be reached, and accepts a WebSocket',
  section: 'Connecting',
  async run(server) {
    await using connection = await CheckedConnection.open(server);
    expectThat(connection.frames.length > 0, 'a frame', 'none');
  },
};

/** The first frame, and how the subprotocol is chosen. */
export const handshakeChecks: readonly ServerCheck[] = [
  {
    name: 'The first frame of a connection is a SessionReady of protocol version 1',
    section: 'SessionReady',
    async run(server) {
      await using first = await CheckedConnection.open(server);
      await using second = await CheckedConnection.open(server);
      for (const { ready, frames } of [first, second]) {
        expectEqual('requestId', frames[0]?.requestId, 0);
        expectEqual('protocolVersion', ready.protocolVersion, 1);
        for (const field of ['sessionId', 'resumeToken', 'serverVersion'] as const)
          expectThat(ready[field] !== '', `a ${field}`, 'an empty one');
      }
      for (const field of ['sessionId', 'resumeToken'] as const)
        expectThat(first.ready[field] !== second.ready[field], `another ${field} for each session`, 'the same one');
    },
  },
  {
    name: 'The server selects the first offered subprotocol that it supports',
    section: 'Connecting',
    async run(server) {
      const other = server.codec === 'json' ? 'turngraph.v1.proto' : 'turngraph.v1.json';
      for (const subprotocols of [
        [server.subprotocol],
        ['unknown.v9', server.subprotocol],
        [server.subprotocol, other],
      ]) {
        await using connection = await CheckedConnection.open(server, { subprotocols });
        expectEqual(`for ${subprotocols.join(', ')} the subprotocol`, connection.socket.protocol, server.subprotocol);
        expectThat(connection.ready.sessionId !== '', 'a session', shown(connection.frames));
      }
    },
  },
  {
    name: 'A client that offers no subprotocol gets JSON',
    section: 'Connecting',
    async run(server) {
      await using connection = await CheckedConnection.open(server, { subprotocols: [] });
      expectEqual('the selected subprotocol', connection.socket.protocol, '');
      expectEqual('protocolVersion', connection.ready.protocolVersion, 1);
    },
  },
  {
    name: 'A client that offers only unknown subprotocols gets error 5004 and close 4406',
    section: 'Connecting',
    async run(server) {
      const subprotocols = ['unknown.v9', 'unknown.v10'];
      await using connection = await CheckedConnection.open(server, { subprotocols });
      expectEqual('the selected subprotocol', connection.socket.protocol, 'unknown.v9');
      const [first] = connection.frames;
      expectThat(first !== undefined, 'a frame', 'none');
      expectError(first, 'PROTOCOL_VERSION_MISMATCH', 'the handshake');
      expectEqual('close', (await connection.untilClosed()).code, 4406, 'Close codes');
    },
  },
  {
    name: 'The server uses no WebSocket extension',
    section: 'Connecting',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      expectThat(connection.extensions === undefined, 'no extension', shown(connection.extensions));
    },
  },
];
