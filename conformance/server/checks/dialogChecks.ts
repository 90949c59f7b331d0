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
    name: 'In the mode MANUAL messages are recorded, and a copy of the agent has its dialog, its mode and its variables',
    section: 'SetAgentModeRequest',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const graph = canned('Yes, {{name}}.');
      const agentId = await createAgent(connection, graph);
      await answered(connection, ['setVariables', { agentId, variablesJson: '{"name": "Ada"}' }], 'ack');
      await answered(connection, ['setAgentMode', { agentId, mode: 'MANUAL' }], 'ack');
      const { complete, text } = await runTurn(connection, agentId, 'Is anybody there?');
      expectEqual(
        'status, mode, path and text',
        [complete.status, complete.mode, complete.path, text],
        ['SUCCESS', 'MANUAL', [], ''],
      );
      await answered(connection, ['appendText', { agentId, text: 'I am.' }], 'ack');
      const copy = await createAgent(connection, graph, { historyJson: await exportText(connection, agentId) });
      expectEqual('the mode of the copy', (await runTurn(connection, copy, 'You?')).complete.mode, 'MANUAL');
      await answered(connection, ['setAgentMode', { agentId: copy, mode: 'AUTO' }], 'ack');
      expectEqual('its answer', (await runTurn(connection, copy, 'You?')).text, 'Yes, Ada.', 'SetVariablesRequest');
      const lines = (await exportDialog(connection, copy)).flatMap(({ user, assistant }) => [user, assistant]);
      const expected = ['Is anybody there?', '', '', 'I am.', 'You?', '', 'You?', 'Yes, Ada.'];
      expectEqual('its dialog', lines, expected, 'ExportDialogResponse');
    },
  },
  {
    name: 'Variables that are no JSON object, or too large, are refused, and nothing is changed',
    section: 'SetVariablesRequest',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const agentId = await createAgent(connection, canned('Yes, {{name}}.'));
      const set = (variables: string) => ['setVariables', { agentId, variablesJson: variables }] as const;
      await answered(connection, set('{"name": "Ada"}'), 'ack');
      await refused(connection, set('["name"]'), 'MALFORMED_MESSAGE');
      await refused(connection, set(JSON.stringify({ name: 'x'.repeat(64 * 1024) })), 'LIMIT_EXCEEDED');
      expectEqual('the answer', (await runTurn(connection, agentId, 'Yes?')).text, 'Yes, Ada.');
      const turn = await runTurn(connection, agentId, 'Yes?', { variables: { name: 'Bo' } });
      expectEqual('the answer with a variable of the message', turn.text, 'Yes, Bo.');
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
