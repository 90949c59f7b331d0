import { expectEqual, expectThat, shown } from '../../expect.ts';
import { answered, exportDialog, refused, runTurn, turnOf } from '../requests.ts';
import { endPause, startTurn } from '../pausedTurn.ts';
import type { ServerCheck } from '../serverUnderTest.ts';

/** What happens while a turn runs. */
export const runningTurnChecks: readonly ServerCheck[] = [
  {
    name: 'A cancelled turn is acknowledged, and ends with its own TurnComplete of status CANCELLED',
    section: 'CancelTurnRequest',
    async run(server) {
      await using turn = await startTurn(server);
      const { connection, agentId, requestId } = turn;
      await answered(connection, ['cancelTurn', { agentId }], 'ack');
      const { complete } = await turnOf(connection, requestId);
      expectEqual('status and error', [complete.status, complete.error], ['CANCELLED', null], 'TurnComplete');
      const [interaction] = await exportDialog(connection, agentId);
      expectEqual('the mark in the dialog', interaction?.mark, 'cancelled', 'ExportDialogResponse');
      await endPause(connection);
      const next = await runTurn(connection, agentId, 'And now?');
      expectEqual('turn and status afterwards', [next.complete.turnId, next.complete.status], [2, 'SUCCESS']);
    },
  },
  {
    name: 'A cancel with the id of another turn is acknowledged, and does nothing',
    section: 'CancelTurnRequest',
    async run(server) {
      await using turn = await startTurn(server);
      const { connection, agentId, requestId } = turn;
      await answered(connection, ['cancelTurn', { agentId, turnId: 99 }], 'ack');
      await endPause(connection);
      const { complete } = await turnOf(connection, requestId);
      expectEqual('status', complete.status, 'SUCCESS');
      await answered(connection, ['cancelTurn', { agentId }], 'ack');
    },
  },
  {
    name: 'An agent in a turn refuses messages and changes with 3004, and its turn is not affected',
    section: 'SendMessageRequest',
    async run(server) {
      await using turn = await startTurn(server);
      const { connection, agentId, requestId } = turn;
      await refused(connection, ['sendMessage', { agentId, text: 'Hello?' }], 'AGENT_BUSY');
      const change = { agentId, nodeName: 'answer', paramsJson: '{"stream": false}' };
      await refused(connection, ['changeParams', change], 'AGENT_BUSY', 'ChangeParamsRequest');
      const addition = { agentId, user: 'A', assistant: 'B' };
      await refused(connection, ['appendDialog', addition], 'AGENT_BUSY', 'AppendDialogRequest');
      await endPause(connection);
      const { complete, text } = await turnOf(connection, requestId);
      expectEqual('turn and status', [complete.turnId, complete.status], [1, 'SUCCESS']);
      const dialog = await exportDialog(connection, agentId);
      expectEqual('the dialog', dialog, [{ user: turn.message, assistant: text }]);
    },
  },
  {
    name: 'A paused session sends no text and answers other requests, and its turn goes on afterwards',
    section: 'SetPaceRequest',
    async run(server) {
      await using turn = await startTurn(server);
      const { connection, requestId } = turn;
      await answered(connection, ['listModels'], 'listModels');
      const early = connection.frames.filter((frame) => frame.requestId === requestId);
      expectThat(early.length === 0, 'no frame of the turn', shown(early));
      await endPause(connection);
      const { complete } = await turnOf(connection, requestId);
      expectEqual('status', complete.status, 'SUCCESS');
    },
  },
  {
    name: 'Frame times are acknowledged during a turn, late or not, and the turn ends',
    section: 'ReportFrameRequest',
    async run(server) {
      await using turn = await startTurn(server);
      const { connection, requestId } = turn;
      for (const ms of [40, 40, 0, 16.5]) await answered(connection, ['reportFrame', { ms, targetMs: 16.7 }], 'ack');
      await endPause(connection);
      const { complete } = await turnOf(connection, requestId);
      expectEqual('status', complete.status, 'SUCCESS');
    },
  },
  {
    name: 'An export during a turn does not have that turn',
    section: 'ExportDialogRequest',
    async run(server) {
      await using turn = await startTurn(server);
      const { connection, agentId, requestId } = turn;
      expectEqual('the dialog', await exportDialog(connection, agentId), []);
      await endPause(connection);
      await turnOf(connection, requestId);
      const dialog = await exportDialog(connection, agentId);
      expectEqual(
        'the messages of the dialog afterwards',
        dialog.map(({ user }) => user),
        [turn.message],
      );
    },
  },
  ...(['clearDialog', 'destroyAgent'] as const).map((body): ServerCheck => ({
    name: `${body} cancels the turn that runs, and its TurnComplete comes before the Ack`,
    section: body === 'clearDialog' ? 'ClearDialogRequest' : 'DestroyAgentRequest',
    async run(server) {
      await using turn = await startTurn(server);
      const { connection, agentId, requestId } = turn;
      await answered(connection, [body, { agentId }], 'ack');
      const complete = connection.frames.find(
        (frame) => frame.requestId === requestId && frame.body === 'turnComplete',
      );
      expectThat(complete?.body === 'turnComplete', 'TurnComplete before the Ack', shown(connection.frames.slice(-2)));
      expectEqual('status', complete.turnComplete.status, 'CANCELLED');
      if (body === 'destroyAgent') return;
      expectEqual('the dialog', await exportDialog(connection, agentId), []);
      await endPause(connection);
      const next = await runTurn(connection, agentId, 'And now?');
      expectEqual('the id of the next turn', next.complete.turnId, 2);
    },
  })),
];
