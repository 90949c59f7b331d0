import { expectEqual, expectThat, shown } from '../../expect.ts';
import { CheckedConnection } from '../connection.ts';
import { useGeneration } from '../facts.ts';
import { canned, chat } from '../graphs.ts';
import { endPause } from '../pausedTurn.ts';
import { answered, createAgent, expectAnswer, runTurn, turnOf } from '../requests.ts';
import type { ServerCheck } from '../serverUnderTest.ts';

const maxUint32 = 0xffff_ffff;

/** Request ids, and the order of answers. */
export const orderChecks: readonly ServerCheck[] = [
  {
    name: 'The frames that answer a request have its id, whatever it is',
    section: 'ClientFrame',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const agentId = await createAgent(connection, canned('Yes.'));
      for (const requestId of [maxUint32, 1_000_000, 3]) {
        const turn = await turnOf(connection, connection.send('sendMessage', { agentId, text: 'Hello' }, requestId));
        expectEqual(`text of the frames with id ${requestId}`, turn.text, 'Yes.');
      }
      const from = connection.frames.length;
      connection.send('listModels', {}, 0);
      const answer = await connection.waitFor(() => true, 'listModels', from);
      expectEqual('answer to id 0', [answer.requestId, answer.body], [0, 'listModels']);
    },
  },
  {
    name: 'Requests are handled and answered in the order in which they arrive',
    section: 'Order',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const agentId = await createAgent(connection, canned('Yes.'));
      const from = connection.frames.length;
      const ids: number[] = [];
      for (let index = 0; index < 10; index++)
        ids.push(
          connection.send('createStringStorage', { name: 'lines', strings: Array.from({ length: index }, () => 'a') }),
          connection.send('appendDialog', { agentId, user: `Message ${index}` }),
          connection.send('exportDialog', { agentId }),
          connection.send('destroyStringStorage', { name: 'lines' }),
          connection.send('changeParams', { agentId, nodeName: 'nowhere', paramsJson: '{}' }),
        );
      await connection.answerTo(ids.at(-1) ?? 0, from);
      const answers = connection.frames.slice(from);
      expectEqual(
        'the ids of the answers',
        answers.map(({ requestId }) => requestId),
        ids,
      );
      const bodies = answers.slice(0, 5).map(({ body }) => body);
      expectEqual('the answers', bodies, ['createStringStorage', 'ack', 'exportDialog', 'ack', 'error']);
      const entries = answers.flatMap((frame) =>
        frame.body === 'createStringStorage' ? [frame.createStringStorage.entries] : [],
      );
      expectEqual('the entries of the storages', entries, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    },
  },
  {
    name: 'A client may send createAgent and sendMessage to agent 1 without waiting',
    section: 'Order',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const created = connection.send('createAgent', { graphJson: JSON.stringify(canned('Yes.')) });
      const message = connection.send('sendMessage', { agentId: 1, text: 'Hello' });
      expectAnswer(await connection.answerTo(created), 'createAgent', 'createAgent');
      const { text } = await turnOf(connection, message);
      expectEqual('text', text, 'Yes.');
      const bodies = connection.frames.map(({ body }) => body);
      const isAfter = bodies.indexOf('answerText') > bodies.indexOf('createAgent');
      expectThat(isAfter, 'CreateAgentResponse before the text', shown(bodies));
    },
  },
  {
    name: 'An agent that warms up in a paused session is answered after the pause, and other requests before',
    section: 'SetPaceRequest',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const engine = await useGeneration(connection);
      await answered(connection, ['setPace', { paused: true }], 'ack');
      const created = connection.send('createAgent', { graphJson: JSON.stringify(chat()), warmUp: true, ...engine });
      await answered(connection, ['listModels'], 'listModels');
      const early = connection.frames.filter(
        ({ requestId, body }) => requestId === created && body !== 'modelProgress',
      );
      expectThat(early.length === 0, 'no answer during the pause', shown(early));
      await endPause(connection);
      expectAnswer(await connection.answerTo(created), 'createAgent', 'createAgent');
    },
  },
  {
    name: 'A session is not affected by the end of another one',
    section: 'End of a session',
    async run(server) {
      await using first = await CheckedConnection.open(server);
      const agentId = await createAgent(first, canned('Yes.', 'No.'));
      await runTurn(first, agentId, 'Hello');
      const second = await CheckedConnection.open(server);
      await createAgent(second, canned('Other.'));
      await second.drop();
      expectEqual('text', (await runTurn(first, agentId, 'Hello')).text, 'No.');
      await answered(first, ['destroyAgent', { agentId }], 'ack');
    },
  },
];
