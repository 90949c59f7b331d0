import { expectEqual, expectThat, shown } from '../../expect.ts';
import type { ClientCheck, Stage } from '../stage.ts';
import type { HandshakeAnswer } from '../scriptedServer.ts';

/** Lets the program connect, and expects that it says why that failed. */
async function expectRefused(stage: Stage, answer: HandshakeAnswer, codes: readonly number[]): Promise<void> {
  if (stage.isConnected) await stage.stop();
  await stage.run.start();
  stage.run.answers.push(answer);
  const id = stage.command('connect');
  await stage.inbox.take((happening) => happening.kind === 'handshake' || undefined, 'a connection', 'Connecting');
  await stage.error(id, codes, 'Connecting');
}

const refusals = [
  { status: 401, reason: 'Unauthorized' },
  { status: 403, reason: 'Forbidden' },
  { status: 404, reason: 'Not Found' },
  { status: 503, reason: 'Service Unavailable' },
] as const;

// What a library could not put into a URL as it is.
const token = 'a+b/c=&d%20#e';

/** Checks of how a client connects. */
export const handshakeChecks: readonly ClientCheck[] = [
  {
    name: 'a handshake that is refused with 401, 403, 404 or 503 is an error of connect',
    section: 'Access control',
    async run(stage) {
      for (const refusal of refusals) await expectRefused(stage, { kind: 'refuse', ...refusal }, [1001]);
    },
  },
  {
    name: 'a connection that ends before SessionReady is an error of connect',
    section: 'Connecting',
    async run(stage) {
      await expectRefused(
        stage,
        {
          kind: 'accept',
          greet(connection) {
            const message = 'this server has no session for you';
            connection.sendUncounted(0, 'error', { code: 5004, name: 'PROTOCOL_VERSION_MISMATCH', message });
            connection.close(4406, 'unknown subprotocol');
          },
        },
        [1001, 5004],
      );
      const drop: HandshakeAnswer = { kind: 'accept', greet: (connection) => connection.drop() };
      await expectRefused(stage, drop, [1001, 1002]);
    },
  },
  {
    name: 'a slow handshake is waited for, and the token is sent with it',
    section: 'Access control',
    async run(stage) {
      if (stage.isConnected) await stage.stop();
      stage.run.answers.push({ kind: 'accept', delayMs: 300 });
      await stage.connect({ token });
      const { authorization, path } = stage.run.lastHandshake ?? { authorization: undefined, path: '/' };
      if (authorization !== undefined) return expectEqual('the header Authorization', authorization, `Bearer ${token}`);
      const { searchParams } = new URL(path, 'ws://localhost');
      expectThat(searchParams.get('token') === token, `the token ${token} in a header or in the URL`, shown(path));
    },
  },
];
