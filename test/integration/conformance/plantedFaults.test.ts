import { describe, expect, it } from 'vitest';
import type { ServerFrame, ServerFrameBodies } from '../../../src/protocol/frames.gen.ts';
import type { CodecName } from '../../../conformance/report.ts';
import { checkServer } from '../../../conformance/server/checkServer.ts';
import { startAlteringProxy, type Alteration } from '../../helpers/alteringProxy.ts';
import { useServer } from '../../helpers/server.ts';

const server = useServer();

/** The checks that run against each fault. */
const chosen = [
  'The first frame of a connection',
  'offers only unknown subprotocols',
  'Requests are handled and answered in the order',
  'The text frames of a turn',
  'An answer that is generated is streamed',
  'A cancelled turn is acknowledged',
  'An agent in a turn refuses messages',
  'A detected call is notified',
  'A frame above 1 MiB',
  'A session that is resumed after a dropped socket',
  'A wrong resume token',
];

const rules = {
  kind: 'Every frame of the server is a WebSocket message of the kind that its codec has',
  form: 'Every frame of the server has the fields of its message, each of its type',
  size: 'Every frame of the server is below 60 KiB',
  seq: 'The frames of a session are numbered 1, 2, 3 without gaps',
  requestId: 'Every answer has the id of a request that was sent',
  final: 'Every request gets exactly one final answer',
  answer: 'Every answer is a message that its request can have',
  turn: 'The text of a turn ends with one empty final frame, before its TurnComplete',
  afterTurn: 'Nothing of a turn follows its TurnComplete',
  turnIds: 'The frames of a turn name its agent and its turn',
  error: 'Every error has a code with its own name, and a message',
};

type Body = keyof ServerFrameBodies;
type FrameOf<Name extends Body> = Extract<ServerFrame, { readonly body: Name }>;

/** Alters the frames of one message. */
const on =
  <Name extends Body>(body: Name, change: (frame: FrameOf<Name>) => readonly ServerFrame[]) =>
  (): Alteration => ({
    frames: (frame) => (frame.body === body ? change(frame as FrameOf<Name>) : [frame]),
  });

/** Numbers the frames that are left, so that the numbers do not show the fault. */
const renumbered = (alter: () => Alteration) => (): Alteration => {
  const { frames = (frame) => [frame] } = alter();
  let next: number | undefined;
  return {
    frames(frame) {
      if (frame.seq > 0) next ??= frame.seq;
      return frames(frame).map((altered) =>
        altered.seq > 0 && next !== undefined ? { ...altered, seq: next++ } : altered,
      );
    },
  };
};

/** Whether a frame has a word of the echo; the answers of other checks have none. */
const isWord = ({ answerText: { text } }: FrameOf<'answerText'>): boolean => text === 'two ';

/** Swaps the frame that matches with the one after it. */
const swapped = (matches: (frame: ServerFrame) => boolean) => (): Alteration => {
  let held: ServerFrame | undefined;
  return {
    frames(frame) {
      const before = held;
      held = undefined;
      if (before) return [frame, before];
      if (!matches(frame)) return [frame];
      held = frame;
      return [];
    },
  };
};

const ready = 'The first frame of a connection is a SessionReady of protocol version 1';
const unsupported = 'A client that offers only unknown subprotocols gets error 5004 and close 4406';
const ordered = 'Requests are handled and answered in the order in which they arrive';
const whole = 'The text frames of a turn are the text of its dialog';
const streamed = 'An answer that is generated is streamed in deltas';
const cancelled = 'A cancelled turn is acknowledged, and ends with its own TurnComplete of status CANCELLED';
const busy = 'An agent in a turn refuses messages and changes with 3004, and its turn is not affected';
const called = 'A detected call is notified with its tool, its arguments in both forms, and no issue';
const tooLarge = 'A frame above 1 MiB is answered with error 5003 and close 1009';
const resumed = 'A session that is resumed after a dropped socket loses no frame and repeats none';
const wrongToken = 'A wrong resume token is refused with 2004 and close 4401, and the session is not touched';

/** Faults, and the names of the checks that fail. */
const faults: readonly (readonly [fault: string, alter: () => Alteration, failed: readonly string[]])[] = [
  ['drops a text frame', on('answerText', (frame) => (isWord(frame) ? [] : [frame])), [streamed, busy, rules.seq]],
  [
    'drops a text frame, and numbers the others without a gap',
    renumbered(on('answerText', (frame) => (isWord(frame) ? [] : [frame]))),
    [streamed, busy],
  ],
  [
    'sends a text frame twice',
    on('answerText', (frame) => (isWord(frame) ? [frame, frame] : [frame])),
    [streamed, busy, rules.seq],
  ],
  [
    'swaps two text frames',
    renumbered(swapped((frame) => frame.body === 'answerText' && isWord(frame))),
    [streamed, busy],
  ],
  [
    'answers with the id of another request',
    on('createStringStorage', (frame) => [{ ...frame, requestId: frame.requestId + 1000 }]),
    [ordered, rules.requestId],
  ],
  ['swaps two answers', renumbered(swapped(({ body }) => body === 'createStringStorage')), [ordered]],
  ['answers a request twice', renumbered(on('ack', (frame) => [frame, frame])), [ordered, rules.final]],
  [
    'answers with another message',
    on('createStringStorage', ({ requestId, seq }) => [{ requestId, seq, body: 'ack', ack: {} }]),
    [ordered, rules.answer],
  ],
  [
    'sends text after TurnComplete',
    renumbered(() => {
      let last: ServerFrame | undefined;
      return {
        frames(frame) {
          if (frame.body === 'answerText' && frame.answerText.nodeName === 'answer') last = frame;
          return frame.body === 'turnComplete' && last ? [frame, last] : [frame];
        },
      };
    }),
    [streamed, rules.afterTurn],
  ],
  [
    'sends no final text frame',
    renumbered(
      on('answerText', (frame) => (frame.answerText.isFinal && frame.answerText.nodeName === 'answer' ? [] : [frame])),
    ),
    [rules.turn],
  ],
  [
    'names another agent in its text',
    on('answerText', (frame) => [{ ...frame, answerText: { ...frame.answerText, agentId: 9 } }]),
    [rules.turnIds],
  ],
  [
    'sends frames that are too large',
    on('answerText', (frame) => [{ ...frame, answerText: { ...frame.answerText, nodeName: 'x'.repeat(60_000) } }]),
    [rules.size],
  ],
  [
    'refuses with another error',
    on('error', (frame) => [
      frame.error.code === 3004 ? { ...frame, error: { ...frame.error, code: 3005, name: 'UNKNOWN_NODE' } } : frame,
    ]),
    [busy],
  ],
  [
    'refuses with a code that has another name',
    on('error', (frame) => [frame.error.code === 2004 ? { ...frame, error: { ...frame.error, code: 2003 } } : frame]),
    [wrongToken, rules.error],
  ],
  ['closes with 1000 in place of 4406', () => ({ closeCode: (code) => (code === 4406 ? 1000 : code) }), [unsupported]],
  ['closes with 1008 in place of 1009', () => ({ closeCode: (code) => (code === 1009 ? 1008 : code) }), [tooLarge]],
  [
    'forgets the first frame after a resume',
    () => {
      let isNext = false;
      return {
        frames(frame) {
          const isFirst = isNext;
          isNext = frame.body === 'resumeSession';
          return isFirst ? [] : [frame];
        },
      };
    },
    [resumed, wrongToken, rules.seq],
  ],
  [
    'says that it has received a request too many',
    on('resumeSession', (frame) => [
      {
        ...frame,
        resumeSession: { ...frame.resumeSession, requestsReceived: frame.resumeSession.requestsReceived + 1 },
      },
    ]),
    [resumed],
  ],
  [
    'changes the arguments of a call',
    on('toolCallNotification', (frame) => [
      {
        ...frame,
        toolCallNotification: { ...frame.toolCallNotification, typedArgumentsJson: '{"name": "porch", "on": "true"}' },
      },
    ]),
    [called],
  ],
  [
    'reports a cancelled turn as a success',
    on('turnComplete', (frame) => [{ ...frame, turnComplete: { ...frame.turnComplete, status: 'SUCCESS' } }]),
    [cancelled],
  ],
  [
    'gives all sessions one id',
    on('sessionReady', (frame) => [{ ...frame, sessionReady: { ...frame.sessionReady, sessionId: 'session' } }]),
    [ready, resumed, wrongToken],
  ],
  ['numbers SessionReady', on('sessionReady', (frame) => [{ ...frame, seq: 1 }]), [rules.seq]],
  ['sends the other kind of messages', () => ({ swapsKinds: true }), [rules.kind]],
  [
    'exports an empty dialog',
    on('exportDialog', (frame) => [{ ...frame, exportDialog: { ...frame.exportDialog, historyJson: '[]' } }]),
    [whole, streamed, cancelled, busy, resumed],
  ],
];

/** The faults that are planted in both codecs: those of one frame of many, of its size and of its kind. The others lie behind it. */
const inBothCodecs = ['drops a text frame', 'sends frames that are too large', 'sends the other kind of messages'];

/** The names of the checks that fail, of those that are chosen. */
async function failedChecks(url: string, codec: CodecName, timeoutMs = 10_000): Promise<readonly string[]> {
  const failed: string[] = [];
  for await (const { name, outcome } of checkServer({ url, codecs: [codec], only: chosen, timeoutMs }))
    if (outcome === 'failed') failed.push(name);
  return failed;
}

describe.each(['json', 'proto'] as const)('the checks of a server in %s', (codec) => {
  it('pass through a proxy that changes nothing', async () => {
    await using proxy = await startAlteringProxy(server().url, () => ({}));
    expect(await failedChecks(proxy.url, codec)).toEqual([]);
  });

  const planted = faults.filter(([fault]) => codec === 'json' || inBothCodecs.includes(fault));
  it.each(planted)('name the fault of one that %s', async (_, alter, failed) => {
    await using proxy = await startAlteringProxy(server().url, alter);
    expect(await failedChecks(proxy.url, codec)).toEqual(failed);
  });

  it('name the fault of one that does not answer a request', async () => {
    await using proxy = await startAlteringProxy(
      server().url,
      on('configureSession', () => []),
    );
    expect(await failedChecks(proxy.url, codec, 300)).toContain(rules.final);
  });
});

it('the checks of a server in JSON name the fault of one that leaves a field out because it has its default', async () => {
  const alter = (): Alteration => ({ text: (text) => text.replace('"isFinal":false', '"other":false') });
  await using proxy = await startAlteringProxy(server().url, alter);
  expect(await failedChecks(proxy.url, 'json')).toEqual([rules.form]);
});

it('a failure says what was expected, what came, and where PROTOCOL.md says so', async () => {
  await using proxy = await startAlteringProxy(server().url, () => ({
    closeCode: (code) => (code === 4406 ? 1000 : code),
  }));
  const results = [];
  for await (const result of checkServer({ url: proxy.url, codecs: ['json'], only: ['offers only unknown'] }))
    results.push(result);
  expect(results.find(({ outcome }) => outcome !== 'passed')).toEqual({
    name: unsupported,
    codec: 'json',
    outcome: 'failed',
    reason: 'expected close 4406, came 1000 (PROTOCOL.md, "Close codes")',
  });
});
