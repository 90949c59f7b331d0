import { expectEqual, expectThat, shown } from '../../expect.ts';
import { CheckedConnection } from '../connection.ts';
import { canned } from '../graphs.ts';
import { answered, createAgent, exportDialog, exportText, refused, runTurn } from '../requests.ts';
import type { ServerCheck } from '../serverUnderTest.ts';

/** Export, append, clear, and a dialog that is given back. */
export const dialogChecks: readonly ServerCheck[] = [
  {
    name: 'A dialog has its turns and what was appended, in order',
    section: 'AppendDialogRequest',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const agentId = await createAgent(connection, canned('Yes.', 'No.'));
      expectEqual('a new dialog', await exportDialog(connection, agentId), [], 'ExportDialogResponse');
      await runTurn(connection, agentId, 'First?');
      const added = { user: 'Second?', assistant: 'Perhaps "so".\n' };
      await answered(connection, ['appendDialog', { agentId, ...added }], 'ack');
      await runTurn(connection, agentId, 'Third?');
      const expected = [{ user: 'First?', assistant: 'Yes.' }, added, { user: 'Third?', assistant: 'No.' }];
      expectEqual('the dialog', await exportDialog(connection, agentId), expected);
    },
  },
  {
    name: 'An appended turn without any text is refused with 5001',
    section: 'AppendDialogRequest',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const agentId = await createAgent(connection, canned('Yes.'));
      await refused(connection, ['appendDialog', { agentId }], 'MALFORMED_MESSAGE');
      await answered(connection, ['appendDialog', { agentId, user: 'Only this' }], 'ack');
    },
  },
  {
    name: 'A cleared dialog is empty, and turn ids continue',
    section: 'ClearDialogRequest',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const agentId = await createAgent(connection, canned('Yes.'));
      await runTurn(connection, agentId, 'First?');
      await answered(connection, ['clearDialog', { agentId }], 'ack');
      expectEqual('the dialog', await exportDialog(connection, agentId), []);
      expectEqual('turn id', (await runTurn(connection, agentId, 'Second?')).complete.turnId, 2);
    },
  },
  {
    name: 'An exported dialog, given to a new agent, is exported unchanged',
    section: 'CreateAgentRequest',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const agentId = await createAgent(connection, canned('Hello, {{name}} 🚢 "\\'));
      await runTurn(connection, agentId, 'Hello\u0000\n\u2028', { variables: { name: 'Ada', __proto__x: 'é' } });
      await runTurn(connection, agentId, '');
      const text = await exportText(connection, agentId);
      const copy = await createAgent(connection, canned('Yes.'), { historyJson: text });
      expectEqual('the dialog of the copy', JSON.parse(await exportText(connection, copy)), JSON.parse(text));
    },
  },
  {
    name: 'A long dialog is exported in several parts, which are one JSON document',
    section: 'ExportDialogResponse',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const history = Array.from({ length: 400 }, (_, index) => ({
        user: `Question ${index}: ${'🚢é"\\'.repeat(30)}`,
        assistant: `Answer ${index}`,
      }));
      const agentId = await createAgent(connection, canned('Yes.'), { historyJson: JSON.stringify(history) });
      const from = connection.frames.length;
      const dialog = await exportDialog(connection, agentId);
      expectThat(connection.frames.length - from > 1, 'several parts', '1', 'Frame sizes');
      expectThat(
        JSON.stringify(dialog) === JSON.stringify(history),
        'the dialog that was given',
        `${dialog.length} interactions, the last ${shown(dialog.at(-1))}`,
      );
    },
  },
];
