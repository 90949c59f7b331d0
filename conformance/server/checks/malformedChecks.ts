import type { CodeName } from '../../../src/protocol/frames.gen.ts';
import { expectEqual, expectThat, shown } from '../../expect.ts';
import type { CodecName } from '../../report.ts';
import { CheckedConnection } from '../connection.ts';
import { canned } from '../graphs.ts';
import { lengthDelimited, frameBytes, varintField } from '../../protobufFields.ts';
import { answered, createAgent, expectError, runTurn } from '../requests.ts';
import type { ServerCheck } from '../serverUnderTest.ts';

/** A frame that no client may send, and the error that answers it: with id 7 where it can be read, else with 0. */
interface MalformedFrame {
  readonly what: string;
  readonly data: string | Uint8Array;
  readonly code: CodeName;
  readonly id: 0 | 7;
  readonly binary?: boolean;
}

const malformed = (what: string, data: string | Uint8Array, id: 0 | 7 = 7): MalformedFrame => ({
  what,
  data,
  code: 'MALFORMED_MESSAGE',
  id,
});
const unknown = (what: string, data: string | Uint8Array, id: 0 | 7 = 7): MalformedFrame => ({
  what,
  data,
  code: 'UNKNOWN_MESSAGE_TYPE',
  id,
});

const jsonFrames: readonly MalformedFrame[] = [
  malformed('no JSON', '{"requestId":7,', 0),
  malformed('no text at all', '', 0),
  malformed('a list', '[{"requestId":7,"listModels":{}}]', 0),
  malformed('a string', '"listModels"', 0),
  malformed('a request id that is a string', '{"requestId":"7","listModels":{}}', 0),
  malformed('a negative request id', '{"requestId":-7,"listModels":{}}', 0),
  malformed('a request id with a fraction', '{"requestId":7.5,"listModels":{}}', 0),
  malformed('a request id above 4294967295', '{"requestId":4294967296,"listModels":{}}', 0),
  unknown('no message', '{"requestId":7}'),
  unknown('a message that is null', '{"requestId":7,"listModels":null}'),
  unknown('an unknown message', '{"requestId":7,"sendMesage":{"agentId":1}}'),
  unknown('a message in snake_case', '{"requestId":7,"list_models":{}}'),
  malformed('two messages', '{"requestId":7,"listModels":{},"exportDialog":{"agentId":1}}'),
  malformed('a message and an unknown one', '{"requestId":7,"listModels":{},"listModel":{}}'),
  malformed('an unknown field', '{"requestId":7,"cancelTurn":{"agentId":1,"turn":1}}'),
  malformed('a field in snake_case', '{"requestId":7,"cancelTurn":{"agent_id":1}}'),
  malformed('the number of an enum', '{"requestId":7,"createStringStorage":{"name":"a","kind":1}}'),
  malformed('an unknown name of an enum', '{"requestId":7,"createStringStorage":{"name":"a","kind":"SET"}}'),
  malformed('half of a character', '{"requestId":7,"sendMessage":{"agentId":1,"text":"\\ud83d"}}'),
  malformed('one field in two forms', '{"requestId":7,"createAgent":{"graph":{},"graphJson":"{}"}}'),
];

const listModels = lengthDelimited(12, []);
const exportDialog = lengthDelimited(9, varintField(1, 1));

const protoFrames: readonly MalformedFrame[] = [
  { ...malformed('text', '{"requestId":7,"listModels":{}}', 0), binary: false },
  malformed('bytes that end too soon', Uint8Array.of(0x08), 0),
  malformed('a message that ends too soon', frameBytes(7, [0x62, 0x05])),
  malformed('an invalid wire type', frameBytes(7, [0x67])),
  unknown('nothing', Uint8Array.of(), 0),
  unknown('no message', frameBytes(7)),
  unknown('an unknown message', frameBytes(7, lengthDelimited(1000, []))),
  malformed('two messages', frameBytes(7, listModels, exportDialog)),
  malformed('a message and an unknown field', frameBytes(7, listModels, lengthDelimited(1000, []))),
  malformed(
    'an unknown field of its message',
    frameBytes(7, lengthDelimited(6, [...varintField(1, 1), ...varintField(15, 1)])),
  ),
  malformed('a number that its enum does not have', frameBytes(7, lengthDelimited(18, varintField(2, 9)))),
];

const framesOf: Readonly<Record<CodecName, readonly MalformedFrame[]>> = { json: jsonFrames, proto: protoFrames };

/** Sends a frame and compares what answers it. */
async function expectRefusal(connection: CheckedConnection, { data, code, id, binary }: MalformedFrame): Promise<void> {
  const from = connection.frames.length;
  connection.sendBytes(data, { ...(id !== 0 && { requestId: id }), ...(binary !== undefined && { binary }) });
  const answer = await connection.waitFor(() => true, 'an error', from);
  expectError(answer, code, 'the frame');
  expectEqual('the request id of the error', answer.requestId, id);
}

/** The checks of malformed frames of one codec: the name of each says what the frame has. */
export const malformedChecksOf = (codec: CodecName): readonly ServerCheck[] => [
  ...framesOf[codec].map((frame): ServerCheck => ({
    name: `A frame with ${frame.what} is answered with ${frame.code}, and the connection stays open`,
    section: 'ClientFrame',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      connection.continueAfter(10);
      await expectRefusal(connection, frame);
      await answered(connection, ['listModels'], 'listModels');
    },
  })),
  {
    name: 'Each of a hundred frames of random bytes is answered with one error, and the session goes on',
    section: 'ClientFrame',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      connection.continueAfter(1000);
      const agentId = await createAgent(connection, canned('Yes.'));
      const from = connection.frames.length;
      for (let index = 0; index < 100; index++) connection.sendBytes(randomBytes(index));
      await answered(connection, ['listModels'], 'listModels');
      const errors = connection.frames.slice(from, -1);
      expectThat(errors.length === 100, '100 errors', `${errors.length} frames`);
      const others = errors.filter((frame) => frame.body !== 'error' || ![5001, 5002].includes(frame.error.code));
      expectThat(others.length === 0, 'errors 5001 and 5002', shown(others[0]));
      expectEqual('the text of the next turn', (await runTurn(connection, agentId, 'Hello')).text, 'Yes.');
    },
  },
];

// The first byte is neither that of an object in JSON nor that of a field of a frame.
const randomBytes = (seed: number): Uint8Array =>
  Uint8Array.from({ length: 1 + (seed % 40) }, (_, at) => (at === 0 ? 0x07 : (seed * 31 + at * 97 + at * at) % 128));
