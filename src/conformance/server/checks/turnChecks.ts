import { expectEqual, expectThat, shown } from '../../expect.ts';
import { CheckedConnection } from '../connection.ts';
import { canned, guarded } from '../graphs.ts';
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
];
