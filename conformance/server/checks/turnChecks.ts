import { expectEqual, expectThat, shown } from '../../expect.ts';
import { CheckedConnection } from '../connection.ts';
import { echoOf, useEcho } from '../facts.ts';
import { canned, chat, endless, guarded } from '../graphs.ts';
import { createAgent, exportDialog, runTurn } from '../requests.ts';
import type { ServerCheck } from '../serverUnderTest.ts';

/** Turns of graphs that need no model. */
export const turnChecks: readonly ServerCheck[] = [
  {
    name: 'A turn sends its text, and ends with a TurnComplete that says what happened',
    section: 'TurnComplete',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const agentId = await createAgent(connection, guarded);
      for (const [turnId, [text, answer, path]] of [
        ['A forbidden word', 'No.', ['guard:triggered', 'refuse:default']],
        ['Anything else', 'Yes.', ['guard:not_triggered', 'agree:default']],
      ].entries()) {
        const turn = await runTurn(connection, agentId, String(text));
        expectEqual('text', turn.text, answer, 'AnswerText');
        const { status, stopReason, tokensPrompt, tokensGenerated, error, debugInfo } = turn.complete;
        expectEqual(
          'TurnComplete',
          { turnId: turn.complete.turnId, status, stopReason, tokensPrompt, tokensGenerated, error, debugInfo },
          {
            turnId: turnId + 1,
            status: 'SUCCESS',
            stopReason: 'NONE',
            tokensPrompt: 0,
            tokensGenerated: 0,
            error: null,
            debugInfo: '',
          },
        );
        const steps = turn.complete.path.map(({ nodeName, exit }) => `${nodeName}:${exit}`);
        expectEqual('path', steps, path);
      }
    },
  },
  {
    name: 'The text frames of a turn are the text of its dialog',
    section: 'AnswerText',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const long = 'The ferry 🚢 leaves at nine. '.repeat(5000);
      const agentId = await createAgent(connection, canned(long));
      const turn = await runTurn(connection, agentId, 'When?');
      const pieces = turn.frames.flatMap((frame) => (frame.body === 'answerText' ? [frame.answerText] : []));
      expectThat(
        turn.text === long,
        `a text of ${long.length} characters`,
        `${turn.text.length} characters in ${pieces.length} frames: ${shown(turn.text)}`,
      );
      const texts = pieces.filter(({ isFinal }) => !isFinal);
      expectThat(
        texts.length > 1 && texts.every(({ isDelta }) => isDelta),
        'several frames with isDelta',
        shown(texts.map(({ isDelta, text }) => ({ isDelta, characters: text.length }))),
      );
      expectEqual('the dialog', await exportDialog(connection, agentId), [{ user: 'When?', assistant: long }]);
    },
  },
  {
    name: 'An answer that is generated is streamed in deltas',
    section: 'AnswerText',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      await useEcho(connection);
      const agentId = await createAgent(connection, chat());
      const { text, frames, complete } = await runTurn(connection, agentId, 'one two three');
      expectEqual('text', text, echoOf('one two three'));
      const pieces = frames.flatMap((frame) => (frame.body === 'answerText' ? [frame.answerText] : [])).slice(0, -1);
      expectThat(pieces.length > 1 && pieces.every(({ isDelta }) => isDelta), 'several deltas', shown(pieces));
      const { status, stopReason, tokensGenerated } = complete;
      expectEqual('status and stopReason', [status, stopReason], ['SUCCESS', 'END'], 'TurnComplete');
      expectThat(tokensGenerated > 0, 'tokensGenerated above 0', String(tokensGenerated), 'TurnComplete');
      const dialog = await exportDialog(connection, agentId);
      expectEqual('the dialog', dialog, [{ user: 'one two three', assistant: echoOf('one two three') }]);
    },
  },
  {
    name: 'An answer that is not streamed comes as a whole text',
    section: 'AnswerText',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      await useEcho(connection);
      const agentId = await createAgent(connection, chat({ stream: false }));
      const { frames } = await runTurn(connection, agentId, 'one two three');
      const pieces = frames.flatMap((frame) => (frame.body === 'answerText' ? [frame.answerText] : []));
      expectEqual(
        'text, isDelta and isFinal',
        pieces.map(({ text, isDelta, isFinal }) => [text, isDelta, isFinal]),
        [
          [echoOf('one two three'), false, false],
          ['', false, true],
        ],
      );
    },
  },
  {
    name: 'The variables of a message are used in this turn, and kept in the dialog',
    section: 'SendMessageRequest',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const agentId = await createAgent(connection, canned('Welcome to {{place}}.'));
      const variables = { place: 'the ferry' };
      const { text } = await runTurn(connection, agentId, 'Hello', { variables });
      expectEqual('text', text, 'Welcome to the ferry.');
      const expected = [{ user: 'Hello', assistant: text, variables }];
      expectEqual('the dialog', await exportDialog(connection, agentId), expected, 'CreateAgentRequest');
    },
  },
  {
    name: 'A turn above its number of steps ends with error 4003, and the agent stays usable',
    section: 'TurnComplete',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const agentId = await createAgent(connection, endless, { maxStepsPerTurn: 3 });
      for (const turnId of [1, 2]) {
        const { text, complete } = await runTurn(connection, agentId, 'Hello');
        expectEqual('text', text, 'Again. \nAgain. \nAgain. '.replaceAll('\n', ''));
        const { status, error } = complete;
        expectEqual(
          'turn, status and error',
          [complete.turnId, status, error?.code, error?.name],
          [turnId, 'ERROR', 4003, 'MAX_STEPS_EXCEEDED'],
        );
      }
      const [first] = await exportDialog(connection, agentId);
      expectEqual('the mark of the turn in the dialog', first?.mark, 'failed', 'ExportDialogResponse');
    },
  },
  {
    name: 'The events of nodes and debug_info come with enable_diagnostics',
    section: 'NodeEvent',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const agentId = await createAgent(connection, guarded, { enableDiagnostics: true });
      const { events, complete } = await runTurn(connection, agentId, 'A forbidden word');
      const seen = events.map(({ nodeName, eventType, part, of }) => `${nodeName} ${eventType} ${part}/${of}`);
      expectEqual('events', seen, [
        'guard node_started 1/1',
        'guard guardrail_triggered 1/1',
        'guard node_finished 1/1',
        'refuse node_started 1/1',
        'refuse node_finished 1/1',
      ]);
      const triggered = events.find(({ eventType }) => eventType === 'guardrail_triggered');
      expectEqual('payload of guardrail_triggered', JSON.parse(triggered?.payloadJson ?? 'null'), { index: 0 });
      const debugInfo = JSON.parse(complete.debugInfo || 'null') as object | null;
      expectThat(
        debugInfo !== null && 'calls' in debugInfo && 'inferences' in debugInfo,
        'debugInfo with calls and inferences',
        complete.debugInfo,
        'TurnComplete',
      );
    },
  },
];
