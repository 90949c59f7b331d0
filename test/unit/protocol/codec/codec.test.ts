import { describe, expect, it } from 'vitest';
import { randomFrame } from '../../../../scripts/fuzz/frames.mjs';
import { createRandom } from '../../../../scripts/seededRandom.mjs';
import { clientCodecs, serverCodecs } from '../../../../src/protocol/codec/codec.ts';
import { clientFrame, serverFrame, bodiesOf } from '../../../../src/protocol/codec/frame.ts';
import { shapes } from '../../../../src/protocol/frames.gen.ts';
import { codecContract } from '../../../contracts/codec.ts';

codecContract('turngraph.v1.proto');
codecContract('turngraph.v1.json');

const json = serverCodecs['turngraph.v1.json'];
const proto = serverCodecs['turngraph.v1.proto'];

describe('both codecs', () => {
  it.each([...bodiesOf('ClientFrame').keys()])('give a server the same frame of %s', (body) => {
    const random = createRandom(3);
    for (let round = 0; round < 20; round++) {
      const frame = randomFrame(shapes, 'ClientFrame', random, body);
      const [text, bytes] = [
        clientCodecs[json.subprotocol].encode(frame),
        clientCodecs[proto.subprotocol].encode(frame),
      ];
      expect(json.decode(text)).toEqual(proto.decode(bytes));
    }
  });

  it.each([...bodiesOf('ServerFrame').keys()])('give a client the same frame of %s', (body) => {
    const random = createRandom(4);
    for (let round = 0; round < 20; round++) {
      const frame = randomFrame(shapes, 'ServerFrame', random, body);
      const [text, bytes] = [json.encode(frame), proto.encode(frame)];
      expect(clientCodecs[json.subprotocol].decode(text)).toEqual(clientCodecs[proto.subprotocol].decode(bytes));
    }
  });
});

const errorOf = (decoded: ReturnType<typeof json.decode>): string =>
  decoded.ok ? 'no error' : `${decoded.fault.code} #${decoded.requestId}: ${decoded.fault.message}`;

describe('a JSON frame', () => {
  it('is encoded with every scalar and list, and without absent messages', () => {
    expect(json.encode(serverFrame(3, 12, 'answerText', { agentId: 1, text: 'hi' }))).toBe(
      '{"requestId":3,"seq":12,"answerText":{"agentId":1,"turnId":0,"nodeName":"","text":"hi","isDelta":false,"isFinal":false,"source":""}}',
    );
    expect(json.encode(serverFrame(0, 0, 'turnComplete'))).toMatch(/^(?!.*"error").*"status":"SUCCESS".*"path":\[\]/);
    expect(clientCodecs['turngraph.v1.json'].encode(clientFrame(1, 'createAgent', { graphName: 'a' }))).toBe(
      '{"requestId":1,"createAgent":{"defaultModelName":"","enableDiagnostics":false,"maxStepsPerTurn":0,"historyJson":"","warmUp":false,"toolsJson":"","graphName":"a"}}',
    );
  });

  it('may omit fields with a default, and have null for absent messages', () => {
    const frame = clientFrame(0, 'sendMessage', { text: 'hello' });
    expect(json.decode('{"sendMessage": {"text": "hello", "agentId": null}, "cancelTurn": null}')).toEqual({
      ok: true,
      frame,
    });
    expect(json.decode(new TextEncoder().encode('{"sendMessage":{"text":"hello"}}'))).toEqual({ ok: true, frame });
  });

  it('may contain graph, history and params as JSON values, whose keys keep their order', () => {
    expect(json.decode('{"createAgent":{"graph":{"b":1,"a":[null]},"history":[{"user":"hi"}]}}')).toEqual({
      ok: true,
      frame: clientFrame(0, 'createAgent', { graphJson: '{"b":1,"a":[null]}', historyJson: '[{"user":"hi"}]' }),
    });
    expect(json.decode('{"changeParams":{"params":{"temperature":null}}}')).toEqual({
      ok: true,
      frame: clientFrame(0, 'changeParams', { paramsJson: '{"temperature":null}' }),
    });
  });

  it.each([
    ['hello', /^5001 #0: the frame is not JSON: /],
    ['', /^5001 #0: the frame is not JSON: /],
    ['[]', '5001 #0: the frame must be an object, not a list'],
    ['"x"', '5001 #0: the frame must be an object, not "x"'],
    ['{}', /^5002 #0: the frame holds no message: give one, as in \{/],
    [
      '{"requestId":4,"sendMesage":{}}',
      '5002 #4: "sendMesage" is no message of this protocol; did you mean "sendMessage"?',
    ],
    [
      '{"requestId":4,"send_message":{}}',
      '5002 #4: "send_message" is no message of this protocol; did you mean "sendMessage"?',
    ],
    ['{"requestId":4,"answerText":{}}', '5002 #4: "answerText" is no message of this protocol'],
    ['{"__proto__":{}}', '5002 #0: "__proto__" is no message of this protocol'],
    ['{"requestId":-1,"listModels":{}}', '5001 #0: requestId must be a whole number from 0 to 4294967295, not -1'],
    ['{"requestId":4,"extra":1,"listModels":{}}', '5001 #4: "extra" is not known here'],
    [
      '{"requestId":4,"listModels":{},"cancelTurn":{}}',
      '5001 #4: a frame holds one message, not both cancelTurn and listModels: send two frames',
    ],
    ['{"requestId":4,"sendMessage":3}', '5001 #4: sendMessage must be an object, not 3'],
    [
      '{"sendMessage":{"agentId":"one"}}',
      '5001 #0: sendMessage.agentId must be a whole number from 0 to 4294967295, not "one"',
    ],
    [
      '{"sendMessage":{"agentId":1.5}}',
      '5001 #0: sendMessage.agentId must be a whole number from 0 to 4294967295, not 1.5',
    ],
    [
      '{"sendMessage":{"agentId":4294967296}}',
      '5001 #0: sendMessage.agentId must be a whole number from 0 to 4294967295, not 4294967296',
    ],
    ['{"sendMessage":{"agentID":1}}', '5001 #0: sendMessage.agentID is not known here; did you mean "agentId"?'],
    ['{"sendMessage":{"toString":1}}', '5001 #0: sendMessage.toString is not known here'],
    [
      '{"changeParams":{"params":{"sampling":{"stop":null,"temperature":1e999}}}}',
      '5001 #0: changeParams.params.sampling.temperature must be a finite number, not Infinity',
    ],
    [
      '{"setVariables":{"variables":{"a":[1,-1e400]}}}',
      '5001 #0: setVariables.variables.a[1] must be a finite number, not -Infinity',
    ],
    ['{"sendMessage":{"text":["a"]}}', '5001 #0: sendMessage.text must be a string, not a list'],
    ['{"sendMessage":{"text":"\\ud800"}}', '5001 #0: sendMessage.text must not hold half of a surrogate pair'],
    ['{"sendMessage":{"variables":{"mood":1}}}', '5001 #0: sendMessage.variables.mood must be a string, not 1'],
    ['{"sendMessage":{"variables":[]}}', '5001 #0: sendMessage.variables must be an object, not a list'],
    ['{"createAgent":{"warmUp":"yes"}}', '5001 #0: createAgent.warmUp must be true or false, not "yes"'],
    [
      '{"createAgent":{"graphName":"a","graphJson":""}}',
      '5001 #0: createAgent.graphJson and createAgent.graphName exclude each other: give one of them',
    ],
    [
      '{"createAgent":{"graphName":"a","graph":{}}}',
      '5001 #0: createAgent.graphJson and createAgent.graphName exclude each other: give one of them',
    ],
    [
      '{"createAgent":{"graph":{},"graphJson":"{}"}}',
      '5001 #0: createAgent.graph and createAgent.graphJson are one field in two forms: give one of them',
    ],
    ['{"submitToolResults":{"results":{}}}', '5001 #0: submitToolResults.results must be a list, not an object'],
    [
      '{"submitToolResults":{"results":[{},{"ok":1}]}}',
      '5001 #0: submitToolResults.results[1].ok must be true or false, not 1',
    ],
    [
      '{"submitToolResults":{"results":[{"lifespan":"DIALOGUE"}]}}',
      '5001 #0: submitToolResults.results[0].lifespan must be one of TURN, DIALOG, not "DIALOGUE"; did you mean "DIALOG"?',
    ],
    [
      '{"submitToolResults":{"results":[{"lifespan":1}]}}',
      '5001 #0: submitToolResults.results[0].lifespan must be one of TURN, DIALOG, not 1',
    ],
  ])('is rejected: %s', (text, sentence) => {
    expect(errorOf(json.decode(text))).toEqual(
      typeof sentence === 'string' ? sentence : expect.stringMatching(sentence),
    );
  });

  it('is rejected with a short message, however long its names and values are', () => {
    const long = 'x'.repeat(500_000);
    expect(errorOf(json.decode(`{"${long}":{}}`)).length).toBeLessThan(200);
    expect(errorOf(json.decode(`{"sendMessage":{"agentId":"${long}","${long}":1}}`)).length).toBeLessThan(200);
  });

  it('is rejected without a stack overflow when it is nested half a million levels deep', () => {
    const deep = '['.repeat(500_000) + ']'.repeat(500_000);
    expect(errorOf(json.decode(deep))).toBe('5001 #0: the frame is nested too deeply: 500 levels are allowed');
    expect(errorOf(json.decode(`{"requestId":2,"createAgent":{"graph":${deep}}}`))).toBe(
      '5001 #2: the frame is nested too deeply: 500 levels are allowed',
    );
  });

  it('is answered with its id, however that is written, when it has too many values to be parsed', () => {
    const values = '0,'.repeat(40_000);
    for (const id of ['70', '7e1', '7.0E+1', '70.0'])
      expect(errorOf(json.decode(`{"requestId":${id},"createAgent":{"graph":[${values}0]}}`))).toBe(
        '2005 #70: the frame has more than 32768 values; send less',
      );
  });

  it('is rejected when its bytes are not UTF-8', () => {
    expect(errorOf(json.decode(Uint8Array.of(0x22, 0xff, 0x22)))).toMatch(/^5001 #0: the frame is not JSON: /);
  });

  it('from a newer server may contain unknown fields', () => {
    const decoded = clientCodecs['turngraph.v1.json'].decode('{"requestId":1,"new":1,"ack":{"newer":[]}}');
    expect(decoded).toEqual({ ok: true, frame: serverFrame(1, 0, 'ack') });
  });

  it('from a newer server may contain an unknown enum value, which is read as the default', () => {
    const text = '{"requestId":1,"turnComplete":{"status":"CANCELLED","stopReason":"FUTURE"}}';
    const frame = serverFrame(1, 0, 'turnComplete', { status: 'CANCELLED', stopReason: 'NONE' });
    expect(clientCodecs['turngraph.v1.json'].decode(text)).toEqual({ ok: true, frame });
  });
});

describe('a binary frame', () => {
  const bytes = (...parts: (number | string)[]): Uint8Array =>
    Uint8Array.from(parts.flatMap((part) => (typeof part === 'string' ? [...new TextEncoder().encode(part)] : [part])));

  it.each([
    ['without anything', bytes(), /^5002 #0: the frame holds no message/],
    [
      'with an unknown message number',
      bytes(8, 4, 0xfa, 0x01, 0),
      '5002 #4: field 31 of wire type 2 is no message of this protocol',
    ],
    [
      'with an unknown field',
      bytes(8, 4, 0x62, 0, 0xf8, 0x01, 1),
      '5001 #4: field 31 of wire type 0 is not known here',
    ],
    [
      'with an unknown field in its message',
      bytes(8, 4, 0x62, 2, 0x78, 1),
      '5001 #4: field 15 of wire type 0 in listModels is not known here',
    ],
    [
      'with a field of the wrong wire type',
      bytes(8, 4, 0x2a, 3, 0x0a, 1, 'x'),
      '5001 #4: field 1 of wire type 2 in sendMessage is not known here',
    ],
    [
      'with two messages',
      bytes(8, 4, 0x62, 0, 0x4a, 2, 8, 1),
      '5001 #4: a frame holds one message, not both exportDialog and listModels: send two frames',
    ],
    [
      'with both members of a oneof',
      bytes(8, 4, 0x22, 6, 0x0a, 1, '{', 0x12, 1, 'a'),
      '5001 #4: createAgent.graphJson and createAgent.graphName exclude each other: give one of them',
    ],
    [
      'with an enum out of range',
      bytes(0x3a, 4, 0x1a, 2, 0x20, 2),
      '5001 #0: submitToolResults.results[0].lifespan must be a number from 0 to 1, not 2',
    ],
    [
      'with text that is not UTF-8',
      bytes(8, 4, 0x2a, 3, 0x12, 1, 0xff),
      /^5001 #4: the frame is not a ClientFrame of turngraph\.v1: /,
    ],
    ['that is truncated', bytes(8, 4, 0x2a, 9, 0x12), /^5001 #4: the frame is not a ClientFrame of turngraph\.v1: /],
    [
      'that is truncated in its request id',
      bytes(8, 0xff),
      /^5001 #0: the frame is not a ClientFrame of turngraph\.v1: /,
    ],
  ])('is rejected %s', (_, data, sentence) => {
    expect(errorOf(proto.decode(data))).toEqual(
      typeof sentence === 'string' ? sentence : expect.stringMatching(sentence),
    );
  });

  it('has at most as many messages in a list as a JSON frame has values', () => {
    const results = (count: number): number[] =>
      Array.from({ length: 2 * count }, (_, at) => (at % 2 === 0 ? 0x1a : 0));
    expect(proto.decode(bytes(8, 4, 0x3a, 0x80, 0x80, 0x04, ...results(32_768)))).toMatchObject({ ok: true });
    expect(errorOf(proto.decode(bytes(8, 4, 0x3a, 0x82, 0x80, 0x04, ...results(32_769))))).toBe(
      '2005 #4: submitToolResults.results has more than 32768 values; send less',
    );
  });

  it('is rejected as a text frame', () => {
    expect(errorOf(proto.decode('{"listModels":{}}'))).toMatch(/^5001 #0: the frame is text/);
  });

  it('is rejected with a number that is not finite', () => {
    const frame = serverFrame(1, 1, 'modelProgress', { fraction: Number.NaN });
    const decoded = clientCodecs['turngraph.v1.proto'].decode(proto.encode(frame));
    expect(decoded).toMatchObject({
      ok: false,
      fault: { message: 'modelProgress.fraction must be a finite number, not NaN' },
    });
  });

  it('from a newer server may contain unknown fields', () => {
    const decoded = clientCodecs['turngraph.v1.proto'].decode(bytes(8, 1, 0x8a, 0x01, 2, 0x78, 1, 0xf8, 0x07, 1));
    expect(decoded).toEqual({ ok: true, frame: serverFrame(1, 0, 'ack') });
  });

  it('from a newer server may contain an unknown enum value, which is read as the default', () => {
    const frame = serverFrame(1, 0, 'turnComplete', { status: 'CANCELLED', stopReason: 'NONE' });
    expect(clientCodecs['turngraph.v1.proto'].decode(bytes(8, 1, 0x52, 4, 0x18, 2, 0x30, 99))).toEqual({
      ok: true,
      frame,
    });
  });
});
