import type { ToolCallNotification } from '../../../src/protocol/frames.gen.ts';
import { expectEqual, expectThat, shown } from '../../expect.ts';
import { callText } from '../graphs.ts';
import { openLamp } from '../lampAgent.ts';
import { runTurn } from '../requests.ts';
import type { ServerCheck } from '../serverUnderTest.ts';

const porch = callText('set_light', { name: 'porch', on: 'true' });
const cellar = callText('set_light', { name: 'cellar', on: false });

/** Detected calls. */
export const toolCallChecks: readonly ServerCheck[] = [
  {
    name: 'A detected call is notified with its tool, its arguments in both forms, and no issue',
    section: 'ToolCallNotification',
    async run(server) {
      const { connection, agentId } = await openLamp(server);
      await using _ = connection;
      const { calls, complete } = await runTurn(connection, agentId, porch);
      expectEqual('the number of calls', calls.length, 1);
      const [call] = calls as readonly [ToolCallNotification];
      const { callId, argumentsJson, typedArgumentsJson, ...rest } = call;
      expectThat(/^[A-Za-z0-9]{9}$/.test(callId), 'a call_id of nine letters and digits', shown(callId));
      expectEqual('argumentsJson', JSON.parse(argumentsJson), { name: 'porch', on: 'true' });
      expectEqual('typedArgumentsJson', JSON.parse(typedArgumentsJson), { name: 'porch', on: true });
      expectEqual('the other fields', rest, {
        agentId,
        turnId: 1,
        nodeName: 'detect',
        callIndex: 0,
        toolName: 'set_light',
        known: true,
        repaired: false,
        consequential: false,
        because: '',
        issues: [],
        awaitsResult: false,
      });
      const steps = complete.path.map(({ nodeName, exit }) => `${nodeName}:${exit}`);
      expectEqual('path', steps, ['detect:tool_called', 'say:default'], 'TurnComplete');
    },
  },
  {
    name: 'Several calls of a turn are notified in order, each with its own index and id',
    section: 'ToolCallNotification',
    async run(server) {
      const { connection, agentId } = await openLamp(server);
      await using _ = connection;
      const { calls } = await runTurn(connection, agentId, `${porch}\n${cellar}`);
      const seen = calls.map(({ callIndex, typedArgumentsJson }) => [callIndex, JSON.parse(typedArgumentsJson)]);
      expectEqual('index and arguments', seen, [
        [0, { name: 'porch', on: true }],
        [1, { name: 'cellar', on: false }],
      ]);
      expectThat(new Set(calls.map(({ callId }) => callId)).size === 2, 'two call ids', shown(calls));
    },
  },
  {
    name: 'A call without a required value is not notified: an event tool_insight says what is missing',
    section: 'ToolCallNotification',
    async run(server) {
      const { connection, agentId } = await openLamp(server);
      await using _ = connection;
      const { calls, events } = await runTurn(connection, agentId, callText('set_light', { name: 'porch' }));
      expectEqual('the number of calls', calls.length, 0);
      const insights = events.filter(({ eventType }) => eventType === 'tool_insight');
      const payload = JSON.parse(insights.map(({ payloadJson }) => payloadJson).join('') || 'null') as Insight | null;
      const seen = [payload?.tool, payload?.missing?.map(({ name }) => name)];
      expectEqual('tool and missing parameters', seen, ['set_light', ['on']]);
    },
  },
  {
    name: 'A call without a required value is kept, and the call of a later turn is completed with it',
    section: 'NodeEvent',
    async run(server) {
      const { connection, agentId } = await openLamp(server);
      await using _ = connection;
      await runTurn(connection, agentId, callText('set_light', { name: 'porch' }));
      const { calls, events } = await runTurn(connection, agentId, callText('set_light', { on: true }));
      const seen = calls.map(({ typedArgumentsJson }) => JSON.parse(typedArgumentsJson) as unknown);
      expectEqual('the arguments', seen, [{ name: 'porch', on: true }]);
      const types = events.map(({ eventType }) => eventType).filter((type) => type.startsWith('call_'));
      expectEqual('the events', types, ['call_completed']);
    },
  },
  {
    name: 'A call of a tool that is not declared is notified as unknown',
    section: 'ToolCallNotification',
    async run(server) {
      const { connection, agentId } = await openLamp(server);
      await using _ = connection;
      const { calls } = await runTurn(connection, agentId, callText('open_door', { name: 'cellar' }));
      const seen = calls.map(({ toolName, known, issues }) => [toolName, known, issues.map(({ code }) => code)]);
      expectEqual('tool, known and issues', seen, [['open_door', false, ['unknown_tool']]]);
    },
  },
];

/** What the payload of a tool_insight has. */
interface Insight {
  readonly tool?: string;
  readonly missing?: readonly { readonly name: string }[];
}
