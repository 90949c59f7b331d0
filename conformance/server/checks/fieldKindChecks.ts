import { shapes, type FieldShape } from '../../../src/protocol/frames.gen.ts';
import type { CodecName } from '../../report.ts';
import { CheckedConnection } from '../connection.ts';
import { lengthDelimited, frameBytes, varintField } from '../../protobufFields.ts';
import { answered, expectError } from '../requests.ts';
import type { ServerCheck } from '../serverUnderTest.ts';

// The fields of each message are numbered in their order, from 1.
const fieldsOf = (name: keyof typeof shapes): readonly (readonly [string, FieldShape, number])[] =>
  Object.entries<FieldShape>(shapes[name]).map(([field, shape], index) => [field, shape, index + 1]);

const requests = fieldsOf('ClientFrame').slice(1);

/** Values of JSON that a field does not take. */
function wrongValues(shape: FieldShape): readonly unknown[] {
  return shape.repeated ? ['a', 7, {}, ...wrongItems(shape).map((item) => [item])] : wrongItems(shape);
}

function wrongItems(shape: FieldShape): readonly unknown[] {
  if ('map' in shape) return ['a', 7, [], { a: 7 }];
  if ('enum' in shape) return ['NONE', 1, true, {}];
  if ('scalar' in shape) return wrongScalars[shape.scalar];
  const ofFields = fieldsOf(shape.message).flatMap(([name, field]) =>
    wrongValues(field).map((value) => ({ [name]: value })),
  );
  return ['a', 7, true, [], ...ofFields];
}

const wrongScalars = {
  string: [7, true, {}, ['a']],
  bool: ['true', 1, {}, []],
  uint32: ['3', true, -1, 1.5, 4_294_967_296, {}, []],
  double: ['3', true, {}],
} as const satisfies Readonly<Record<string, readonly unknown[]>>;

/** Encodings of a field that have another wire type than its own. */
function wrongFields(shape: FieldShape, number: number): readonly Uint8Array[] {
  const isNumber = 'enum' in shape || ('scalar' in shape && shape.scalar !== 'string');
  if (isNumber) return [lengthDelimited(number, [0x61])];
  if (!('message' in shape)) return [varintField(number, 1)];
  const ofFields = fieldsOf(shape.message).flatMap(([, field, inner]) => wrongFields(field, inner));
  return [varintField(number, 1), ...ofFields.map((bytes) => lengthDelimited(number, bytes))];
}

function wrongFrames(codec: CodecName, body: string, shape: FieldShape, number: number): readonly WrongFrame[] {
  if (codec === 'json')
    return wrongValues(shape).map((value) => ({
      what: `${body} ${JSON.stringify(value)}`,
      withId: (requestId) => JSON.stringify({ requestId, [body]: value }),
    }));
  // Another wire type of the message itself makes it an unknown one.
  const [, ...ofFields] = wrongFields(shape, number);
  return ofFields.map((bytes) => ({
    what: `${body} with the bytes ${bytes.join(' ')}`,
    withId: (requestId) => frameBytes(requestId, bytes),
  }));
}

interface WrongFrame {
  readonly what: string;
  readonly withId: (requestId: number) => string | Uint8Array;
}

/** For each request: every field with a value of another kind. */
export const fieldKindChecksOf = (codec: CodecName): readonly ServerCheck[] =>
  requests.map(([body, shape, number]): ServerCheck => ({
    name: `${body} with a value of the wrong kind, in any of its fields, is refused with MALFORMED_MESSAGE`,
    section: 'ClientFrame',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      await answered(connection, ['listModels'], 'listModels');
      const frames = wrongFrames(codec, body, shape, number);
      const from = connection.frames.length;
      for (const [index, { withId }] of frames.entries())
        connection.sendBytes(withId(100 + index), { requestId: 100 + index });
      for (const [index, { what }] of frames.entries())
        expectError(await connection.answerTo(100 + index, from), 'MALFORMED_MESSAGE', what);
    },
  }));
