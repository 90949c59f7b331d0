import type { ToolCallNotification, ToolResult } from '../../../src/protocol/frames.gen.ts';
import { expectEqual, expectThat, shown } from '../../expect.ts';
import type { CheckedConnection } from '../connection.ts';
import { callText, canned } from '../graphs.ts';
import { openLamp } from '../lampAgent.ts';
import { answered, createAgent, exportDialog, refused, runTurn, turnOf } from '../requests.ts';
import type { ServerCheck, ServerUnderTest } from '../serverUnderTest.ts';

const porch = callText('set_light', { name: 'porch', on: true });
const cellar = callText('set_light', { name: 'cellar', on: false });
const maxContentBytes = 256 * 1024;

/** A turn that waits for the results of two calls. */
interface WaitingTurn {
  readonly connection: CheckedConnection;
  readonly agentId: number;
  readonly requestId: number;
  readonly callIds: readonly [string, string];
}

async function startWaiting(server: ServerUnderTest): Promise<WaitingTurn> {
  const { connection, agentId } = await openLamp(server, { await_results: true });
  const requestId = connection.send('sendMessage', { agentId, text: `${porch}\n${cellar}` });
  const calls: ToolCallNotification[] = [];
  let from = 0;
  while (calls.length < 2) {
    const frame = await connection.waitFor(({ body }) => body === 'toolCallNotification', 'a call', from);
    from = connection.frames.indexOf(frame) + 1;
    if (frame.body === 'toolCallNotification') calls.push(frame.toolCallNotification);
  }
  expectThat(
    calls.every(({ awaitsResult }) => awaitsResult),
    'awaitsResult',
    shown(calls),
    'ToolCallNotification',
  );
  const [first, second] = calls.map(({ callId }) => callId);
  return { connection, agentId, requestId, callIds: [first ?? '', second ?? ''] };
}

const result = (callId: string, content = 'done', more: Partial<ToolResult> = {}): ToolResult => ({
  callId,
  ok: true,
  content,
  lifespan: 'TURN',
  metadataJson: '',
  control: null,
  ...more,
});

/** Turns that wait for the results of their calls. */
export const toolResultChecks: readonly ServerCheck[] = [
  {
    name: 'A turn goes on when each of its calls has a result, sent together or one by one',
    section: 'SubmitToolResultsRequest',
    async run(server) {
      for (const isTogether of [true, false]) {
        const { connection, agentId, requestId, callIds } = await startWaiting(server);
        await using _ = connection;
        const batches = isTogether ? [callIds] : callIds.map((id) => [id]);
        for (const batch of batches)
          await answered(
            connection,
            ['submitToolResults', { agentId, turnId: 1, results: batch.map((id) => result(id)) }],
            'ack',
          );
        const { complete, text } = await turnOf(connection, requestId);
        expectEqual('status and text', [complete.status, text], ['SUCCESS', 'Well.']);
        const steps = complete.path.map(({ nodeName, exit }) => `${nodeName}:${exit}`);
        expectEqual('path', steps, ['detect:tool_called', 'say:default'], 'TurnComplete');
      }
    },
  },
  {
    name: 'Results that the turn does not wait for are refused with 3012, and none of their request is applied',
    section: 'SubmitToolResultsRequest',
    async run(server) {
      const { connection, agentId, requestId, callIds } = await startWaiting(server);
      await using _ = connection;
      const [first, second] = callIds;
      const submit = (ids: readonly string[], turnId = 0) =>
        ['submitToolResults', { agentId, turnId, results: ids.map((id) => result(id)) }] as const;
      await refused(connection, submit([first, 'unknown00']), 'NO_RESULTS_AWAITED');
      await refused(connection, submit([first], 99), 'NO_RESULTS_AWAITED');
      const large = [result(first), result(second, 'x'.repeat(maxContentBytes + 1))];
      await refused(connection, ['submitToolResults', { agentId, results: large }], 'LIMIT_EXCEEDED');
      await answered(connection, submit([first]), 'ack');
      await refused(connection, submit([first, second]), 'NO_RESULTS_AWAITED');
      await answered(connection, submit([second]), 'ack');
      expectEqual('status', (await turnOf(connection, requestId)).complete.status, 'SUCCESS');
      await refused(connection, submit([second]), 'NO_RESULTS_AWAITED');
    },
  },
  {
    name: 'A turn that waits for results can be cancelled, and late results are refused with 3012',
    section: 'CancelTurnRequest',
    async run(server) {
      const { connection, agentId, requestId, callIds } = await startWaiting(server);
      await using _ = connection;
      await answered(connection, ['cancelTurn', { agentId, turnId: 1 }], 'ack');
      expectEqual('status', (await turnOf(connection, requestId)).complete.status, 'CANCELLED', 'TurnComplete');
      const late = { agentId, results: [result(callIds[0])] };
      await refused(connection, ['submitToolResults', late], 'NO_RESULTS_AWAITED', 'SubmitToolResultsRequest');
    },
  },
  {
    name: 'A line that is appended during a turn is sent in it, and stands before its answer',
    section: 'AppendTextRequest',
    async run(server) {
      const { connection, agentId, requestId, callIds } = await startWaiting(server);
      await using _ = connection;
      await answered(connection, ['appendText', { agentId, text: 'I am at it.', notify: true }], 'ack');
      await refused(connection, ['appendText', { agentId, text: 'Hm.', role: 'keeper' }], 'MALFORMED_MESSAGE');
      await refused(connection, ['appendText', { agentId }], 'MALFORMED_MESSAGE');
      const results = callIds.map((id) => result(id));
      await answered(connection, ['submitToolResults', { agentId, results }], 'ack');
      const { frames, complete } = await turnOf(connection, requestId);
      expectEqual('status', complete.status, 'SUCCESS');
      const sent = frames.flatMap((frame) =>
        frame.body === 'answerText' && frame.answerText.source === 'client' ? [frame.answerText.text] : [],
      );
      expectEqual('the texts of the client', sent, ['I am at it.'], 'AnswerText');
      const dialog = await exportDialog(connection, agentId);
      const lines = dialog.flatMap(({ user, assistant }) => [user, assistant]).filter((line) => line !== '');
      expectEqual('the dialog', lines, [`${porch}\n${cellar}`, 'I am at it.', 'Well.'], 'ExportDialogResponse');
    },
  },
  {
    name: 'A result with control sets the mode, and its metadata comes with the TurnComplete',
    section: 'ToolControl',
    async run(server) {
      const { connection, agentId, requestId, callIds } = await startWaiting(server);
      await using _ = connection;
      const [first, second] = callIds;
      const noJson = [result(first), result(second, 'done', { metadataJson: '{' })];
      await refused(connection, ['submitToolResults', { agentId, results: noJson }], 'MALFORMED_MESSAGE', 'ToolResult');
      const control = { mode: 'MANUAL', endTurn: false, answer: '' } as const;
      const results = [result(first, 'done', { metadataJson: '{"cost": 3}' }), result(second, 'done', { control })];
      await answered(connection, ['submitToolResults', { agentId, results }], 'ack');
      const { complete, text } = await turnOf(connection, requestId);
      expectEqual('text and mode', [text, complete.mode], ['Well.', 'MANUAL'], 'TurnComplete');
      const metadata = [{ callId: first, toolName: 'set_light', metadataJson: '{"cost": 3}' }];
      expectEqual('the metadata', complete.resultMetadata, metadata, 'TurnComplete');
    },
  },
  {
    name: 'A result can end the turn with an answer',
    section: 'ToolControl',
    async run(server) {
      const { connection, agentId, requestId, callIds } = await startWaiting(server);
      await using _ = connection;
      const control = { mode: 'UNCHANGED', endTurn: true, answer: 'Enough.' } as const;
      const results = [result(callIds[0], 'done', { control })];
      await answered(connection, ['submitToolResults', { agentId, results }], 'ack');
      const { complete, text } = await turnOf(connection, requestId);
      const steps = complete.path.map(({ nodeName, exit }) => `${nodeName}:${exit}`);
      expectEqual('status, text, path', [complete.status, text, steps], ['SUCCESS', 'Enough.', ['detect:tool_called']]);
    },
  },
  {
    name: 'An agent answers while a turn of another one waits',
    section: 'Order',
    async run(server) {
      const { connection, agentId, requestId, callIds } = await startWaiting(server);
      await using _ = connection;
      const other = await createAgent(connection, canned('Yes.'));
      expectEqual('text of the other agent', (await runTurn(connection, other, 'Hello')).text, 'Yes.');
      const results = callIds.map((id) => result(id));
      await answered(connection, ['submitToolResults', { agentId, results }], 'ack');
      expectEqual('text', (await turnOf(connection, requestId)).text, 'Well.');
    },
  },
];
