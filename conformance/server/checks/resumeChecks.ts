import { expectEqual, expectThat, shown } from '../../expect.ts';
import { CheckedConnection } from '../connection.ts';
import { canned } from '../graphs.ts';
import {
  answered,
  createAgent,
  exportDialog,
  expectAnswer,
  expectError,
  runTurn,
  textOf,
  turnOf,
} from '../requests.ts';
import { receivedUpTo, resumeSession, tryResume } from '../resume.ts';
import { endPause, startTurn } from '../pausedTurn.ts';
import type { ServerCheck, ServerUnderTest } from '../serverUnderTest.ts';

const longText = 'The ferry 🚢 leaves at nine. '.repeat(8000);

/** A connection whose turn has ended after many frames, with the seq of one in the middle of its text. */
async function afterLongTurn(server: ServerUnderTest) {
  const connection = await CheckedConnection.open(server);
  const agentId = await createAgent(connection, canned(longText));
  const requestId = connection.send('sendMessage', { agentId, text: 'When?' });
  await turnOf(connection, requestId);
  const first = connection.frames.find(({ body }) => body === 'answerText');
  return { connection, agentId, requestId, middle: first?.seq ?? 0 };
}

/** Sessions that outlive their connection. */
export const resumeChecks: readonly ServerCheck[] = [
  {
    name: 'A session that is resumed after a dropped socket loses no frame and repeats none',
    section: 'Resume',
    async run(server) {
      const { connection: older, agentId, requestId, middle } = await afterLongTurn(server);
      const sent = 2;
      const { lastSeq } = older.trace;
      await older.drop();
      const resumed = await resumeSession(older, { lastSeq: middle });
      await using connection = resumed.connection;
      expectEqual('replayed', resumed.replayed, lastSeq - middle, 'ResumeSessionResponse');
      expectEqual('requestsReceived', resumed.requestsReceived, sent, 'ResumeSessionResponse');
      // The export stands for a request that was lost with the old connection.
      const dialog = await exportDialog(connection, agentId);
      const frames = [...receivedUpTo(older, middle), ...receivedUpTo(connection, Infinity)];
      const text = textOf(frames.filter((frame) => frame.requestId === requestId));
      expectThat(text === longText, `a text of ${longText.length} characters`, `${text.length}: ${shown(text)}`);
      expectThat(dialog[0]?.assistant === longText, 'one turn in the dialog', shown(dialog));
      const seqs = frames.map(({ seq }) => seq);
      expectEqual(
        'seqs',
        seqs,
        seqs.map((_, index) => index + 1),
        'ServerFrame',
      );
    },
  },
  {
    name: 'The frames that are replayed are those that were sent',
    section: 'ResumeSessionResponse',
    async run(server) {
      const { connection: older } = await afterLongTurn(server);
      const expected = receivedUpTo(older, Infinity);
      await older.drop();
      const { connection: newer, replayed } = await resumeSession(older, { lastSeq: 0 });
      await using connection = newer;
      expectEqual('replayed', replayed, expected.length);
      await connection.waitFor(({ seq }) => seq === expected.length, 'the last frame');
      expectThat(
        JSON.stringify(receivedUpTo(connection, Infinity)) === JSON.stringify(expected),
        'the same frames',
        'other ones',
      );
    },
  },
  {
    name: 'Agents, dialogs and storages of a resumed session are as they were',
    section: 'Resume',
    async run(server) {
      const older = await CheckedConnection.open(server);
      const agentId = await createAgent(older, canned('Yes.', 'No.'));
      await runTurn(older, agentId, 'First?');
      await answered(older, ['createStringStorage', { name: 'lines', strings: ['a'] }], 'createStringStorage');
      await older.drop();
      const { connection: newer, replayed, requestsReceived } = await resumeSession(older);
      await using connection = newer;
      expectEqual('replayed and requestsReceived', [replayed, requestsReceived], [0, 3], 'ResumeSessionResponse');
      const { text, complete } = await runTurn(connection, agentId, 'Second?');
      expectEqual('turn and text', [complete.turnId, text], [2, 'No.']);
      await answered(connection, ['destroyStringStorage', { name: 'lines' }], 'ack');
      expectEqual('the id of the next agent', await createAgent(connection, canned('Yes.')), 2);
    },
  },
  {
    name: 'A turn goes on while its session has no connection',
    section: 'End of a session',
    async run(server) {
      const { connection: older, requestId, agentId, message } = await startTurn(server);
      await older.drop();
      const { connection: newer } = await resumeSession(older);
      await using connection = newer;
      connection.waitForModel();
      await endPause(connection);
      const { complete, text } = await turnOf(connection, requestId);
      expectEqual('status', complete.status, 'SUCCESS');
      const dialog = await exportDialog(connection, agentId);
      expectEqual('the dialog', dialog, [{ user: message, assistant: text }]);
    },
  },
  {
    name: 'A session can be resumed in the other codec',
    section: 'ResumeSessionResponse',
    async run(server) {
      const { connection: older, requestId, middle } = await afterLongTurn(server);
      await older.drop();
      const subprotocol = server.codec === 'json' ? 'turngraph.v1.proto' : 'turngraph.v1.json';
      const { connection: newer } = await resumeSession(older, { lastSeq: middle, subprotocol });
      await using connection = newer;
      await connection.answerTo(requestId);
      const frames = [...receivedUpTo(older, middle), ...receivedUpTo(connection, Infinity)];
      expectThat(textOf(frames) === longText, 'the whole text', shown(textOf(frames)));
    },
  },
  {
    name: 'Of two connections that resume a session the last one has it, and the other is closed with 4409',
    section: 'ResumeSessionRequest',
    async run(server) {
      const older = await CheckedConnection.open(server);
      const agentId = await createAgent(older, canned('Yes.'));
      const { connection: newer } = await resumeSession(older);
      await using connection = newer;
      expectEqual('close of the older connection', (await older.untilClosed()).code, 4409, 'Close codes');
      expectEqual('text', (await runTurn(connection, agentId, 'Hello')).text, 'Yes.');
    },
  },
  {
    name: 'A wrong resume token is refused with 2004 and close 4401, and the session is not touched',
    section: 'ResumeSessionRequest',
    async run(server) {
      const older = await CheckedConnection.open(server);
      const agentId = await createAgent(older, canned('Yes.'));
      const attempt = await tryResume(older, { resumeToken: 'conformance' });
      expectError(attempt.answer, 'UNAUTHORIZED', 'resumeSession');
      expectEqual('close', (await attempt.connection.untilClosed()).code, 4401, 'Close codes');
      expectEqual('text on the older connection', (await runTurn(older, agentId, 'Hello')).text, 'Yes.');
      await older.drop();
      await using resumed = (await resumeSession(older)).connection;
      expectEqual('text after a resume', (await runTurn(resumed, agentId, 'Hello')).text, 'Yes.');
    },
  },
  {
    name: 'A session that cannot be resumed is refused with 2003, and the connection keeps its own session',
    section: 'ResumeSessionRequest',
    async run(server) {
      await using older = await CheckedConnection.open(server);
      await createAgent(older, canned('Yes.'));
      const unknown = { sessionId: 'conformance', resumeToken: 'x', lastSeq: 0 };
      const notSent = { ...keyOf(older), lastSeq: 99 };
      const tooLong = { ...keyOf(older), sessionId: 'x'.repeat(17_000), lastSeq: 0 };
      for (const request of [unknown, notSent, tooLong]) {
        await using connection = await CheckedConnection.open(server);
        expectError(await connection.request('resumeSession', request), 'SESSION_NOT_RESUMABLE', shown(request));
        expectEqual('the id of the first agent', await createAgent(connection, canned('No.')), 1);
      }
      await using own = await CheckedConnection.open(server);
      const request = { ...keyOf(own), lastSeq: 0 };
      expectError(await own.request('resumeSession', request), 'SESSION_NOT_RESUMABLE', 'the own session');
      expectAnswer(await own.request('listModels'), 'listModels', 'listModels');
    },
  },
];

const keyOf = ({ ready: { sessionId, resumeToken } }: CheckedConnection) => ({ sessionId, resumeToken });
