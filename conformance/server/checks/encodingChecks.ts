import type { ServerFrame } from '../../../src/protocol/frames.gen.ts';
import { expectEqual } from '../../expect.ts';
import type { CodecName } from '../../report.ts';
import { CheckedConnection } from '../connection.ts';
import { canned } from '../graphs.ts';
import { lengthDelimited, varintField } from '../../protobufFields.ts';
import { createAgent, expectAnswer, exportDialog, runTurn } from '../requests.ts';
import type { ServerCheck } from '../serverUnderTest.ts';

/** Sends a request as a JSON value, and waits for its final answer. */
async function requestJson<Body extends 'createAgent' | 'changeParams'>(
  connection: CheckedConnection,
  body: Body,
  fields: object,
): Promise<ServerFrame> {
  const requestId = connection.frames.length;
  connection.sendBytes(JSON.stringify({ requestId, [body]: fields }), { requestId, body });
  return connection.answerTo(requestId, requestId);
}

const jsonChecks: readonly ServerCheck[] = [
  {
    name: 'A whole number may be written with a fraction of zero, and null stands for an omitted field',
    section: 'The JSON form',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const agentId = await createAgent(connection, canned('Yes.'));
      const from = connection.frames.length;
      connection.trace.sent(7, 'exportDialog');
      connection.sendBytes(`{"requestId":7.0,"exportDialog":{"agentId":${agentId}.0},"listModels":null}`);
      expectAnswer(await connection.answerTo(7, from), 'exportDialog', 'exportDialog');
    },
  },
  {
    name: 'A frame without a request id has the id 0',
    section: 'The JSON form',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const from = connection.frames.length;
      connection.trace.sent(0, 'listModels');
      connection.sendBytes('{"listModels":{}}');
      const answer = await connection.waitFor(() => true, 'an answer', from);
      expectEqual('id and body of the answer', [answer.requestId, answer.body], [0, 'listModels']);
    },
  },
  {
    name: 'Graphs, histories and parameters may be given as values',
    section: 'The JSON form',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      connection.continueAfter(100);
      const history = [{ user: 'First?', assistant: 'Yes.' }];
      const creation = { graph: canned('One.', 'Two.'), history };
      expectAnswer(await requestJson(connection, 'createAgent', creation), 'createAgent', 'createAgent');
      expectEqual('the dialog', await exportDialog(connection, 1), history);
      const change = { agentId: 1, nodeName: 'say', params: { selection_strategy: 'first' } };
      expectAnswer(await requestJson(connection, 'changeParams', change), 'ack', 'changeParams');
      const texts = [await runTurn(connection, 1, 'Hello'), await runTurn(connection, 1, 'Hello')];
      expectEqual(
        'texts',
        texts.map(({ text }) => text),
        ['One.', 'One.'],
      );
    },
  },
];

const protoChecks: readonly ServerCheck[] = [
  {
    name: 'The fields of a frame may come in any order',
    section: 'ClientFrame',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      connection.trace.sent(7, 'listModels');
      connection.sendBytes(Uint8Array.from([...lengthDelimited(12, []), ...varintField(1, 7)]));
      expectAnswer(await connection.answerTo(7), 'listModels', 'listModels');
    },
  },
  {
    name: 'Defaults may be written, and numbers may have more bytes than they need',
    section: 'The JSON form',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      connection.trace.sent(7, 'listModels');
      // The id 7 in two bytes, then listModels with an empty page token.
      connection.sendBytes(Uint8Array.of(0x08, 0x87, 0x00, 0x62, 0x02, 0x0a, 0x00));
      expectAnswer(await connection.answerTo(7), 'listModels', 'listModels');
    },
  },
];

/** Freedoms that each encoding gives to a client. */
export const encodingChecksOf = (codec: CodecName): readonly ServerCheck[] =>
  codec === 'json' ? jsonChecks : protoChecks;
