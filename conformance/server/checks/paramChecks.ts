import { expectEqual } from '../../expect.ts';
import { CheckedConnection } from '../connection.ts';
import { canned } from '../graphs.ts';
import { answered, createAgent, refused, runTurn } from '../requests.ts';
import type { ServerCheck } from '../serverUnderTest.ts';

/** Changes of parameters between turns. */
export const paramChecks: readonly ServerCheck[] = [
  {
    name: 'A changed parameter holds from the next turn on, and null restores its default',
    section: 'ChangeParamsRequest',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const agentId = await createAgent(connection, canned('First.', 'Second.'));
      const say = async (): Promise<string> => (await runTurn(connection, agentId, 'Hello')).text;
      const change = (params: object): Promise<unknown> =>
        answered(connection, ['changeParams', { agentId, nodeName: 'say', paramsJson: JSON.stringify(params) }], 'ack');
      expectEqual('text', await say(), 'First.');
      await change({ selection_strategy: 'first' });
      expectEqual('text after the change', [await say(), await say()], ['First.', 'First.']);
      await change({ selection_strategy: null });
      await change({});
    },
  },
  {
    name: 'A change that is refused changes nothing, and its error names the reason',
    section: 'ChangeParamsRequest',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const agentId = await createAgent(connection, canned('First.', 'Second.'));
      for (const [nodeName, paramsJson, code] of [
        ['nowhere', '{}', 'UNKNOWN_NODE'],
        ['say', '{"selection_strategy": "first", "inline_strings": ["Other."]}', 'PARAM_NOT_MUTABLE'],
        ['say', '{"selection_strategy": "first", "strategy": "first"}', 'INVALID_PARAM_VALUE'],
        ['say', '{"selection_strategy": "last"}', 'INVALID_PARAM_VALUE'],
        ['say', '["first"]', 'INVALID_PARAM_VALUE'],
        ['say', '{', 'INVALID_PARAM_VALUE'],
      ] as const)
        await refused(connection, ['changeParams', { agentId, nodeName, paramsJson }], code);
      const texts = [await runTurn(connection, agentId, 'Hello'), await runTurn(connection, agentId, 'Hello')];
      expectEqual(
        'texts afterwards',
        texts.map(({ text }) => text),
        ['First.', 'Second.'],
      );
    },
  },
];
