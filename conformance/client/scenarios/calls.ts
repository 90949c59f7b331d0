import { expectEqual, expectThat, shown } from '../../expect.ts';
import type { ClientCheck, Stage } from '../stage.ts';
import { ScriptedTurn } from '../scriptedTurn.ts';
import type { ToolResult } from '../../../src/protocol/frames.gen.ts';

const typedArgumentsJson = JSON.stringify({
  text: 'a “quoted” 🏮 \\ / "text"',
  looksLikeNumber: '12',
  looksLikeDate: '2026-11-24T03:05:00Z',
  empty: '',
  count: 3,
  aboveInt32: 123_456_789_012,
  largest: Number.MAX_SAFE_INTEGER,
  fraction: -0.125,
  huge: 1.5e18,
  on: true,
  off: false,
  nothing: null,
  list: [1, 'two', [3], { four: 4 }],
  nested: { deep: { deeper: [null, false, 0, ''] } },
  größe: { 'key with spaces': 1 },
});

/** Takes the requests for the results of a turn until each call has one, and acknowledges them. */
async function takeResults(stage: Stage, turn: ScriptedTurn, count: number): Promise<readonly ToolResult[]> {
  const results: ToolResult[] = [];
  while (results.length < count) {
    const { requestId, fields, connection } = await stage.request('submitToolResults', 'SubmitToolResultsRequest');
    turn.agent.checkId(fields.agentId);
    const isTurn = fields.turnId === 0 || fields.turnId === turn.turnId;
    expectThat(isTurn, `turn_id 0 or ${turn.turnId}`, shown(fields.turnId), 'SubmitToolResultsRequest');
    results.push(...fields.results);
    connection.send(requestId, 'ack');
  }
  return results;
}

/** Checks of how a client reports calls and sends their results. */
export const callChecks: readonly ClientCheck[] = [
  {
    name: 'the calls of a turn are reported in order, with arguments of every type',
    section: 'ToolCallNotification',
    async run(stage) {
      await stage.connect();
      const agent = await stage.createAgent();
      const turn = await ScriptedTurn.start(stage, agent);
      turn.text('I will. ').call({ callId: 'firstCall', toolName: 'remember', typedArgumentsJson });
      turn.call({ callId: 'secondCal', toolName: 'remember', typedArgumentsJson: '{}' });
      turn.call({ callId: 'thirdCall', toolName: 'unheard_of', typedArgumentsJson: '{"on":"yes"}', known: false });
      await turn.text('Done.').end().complete();
    },
  },
  {
    name: 'results are sent once, and the turn goes on with them',
    section: 'SubmitToolResultsRequest',
    async run(stage) {
      await stage.connect();
      const agent = await stage.createAgent();
      const turn = await ScriptedTurn.start(stage, agent);
      const awaitsResult = true;
      turn.call({ callId: 'weather01', toolName: 'weather', typedArgumentsJson: '{"city":"Paris"}', awaitsResult });
      turn.call({ callId: 'weather02', toolName: 'weather', typedArgumentsJson: '{"city":"Oz"}', awaitsResult });
      await turn.reported();
      const results = [
        { call: 'weather01', content: '{"degrees":18,"note":"“mild” 🏮"}', ok: true },
        { call: 'weather02', content: 'there is no such city', ok: false },
      ];
      const id = stage.command('results', { agent: agent.name, results });
      const received = await takeResults(stage, turn, results.length);
      const byCall = received.map(({ callId, content, ok }) => ({ call: callId, content, ok }));
      expectEqual('the results', byCall, results, 'ToolResult');
      await stage.event(id, 'ok', 'SubmitToolResultsRequest');
      await turn.text('18 degrees in Paris.').end().complete();
    },
  },
  {
    name: 'refused results are an error, and the turn goes on',
    section: 'SubmitToolResultsRequest',
    async run(stage) {
      const connection = await stage.connect();
      const agent = await stage.createAgent();
      const turn = await ScriptedTurn.start(stage, agent);
      await turn.text('Hm. ').reported();
      const results = [{ call: 'unasked01', content: 'there was no call', ok: true }];
      const id = stage.command('results', { agent: agent.name, results });
      const { requestId } = await stage.request('submitToolResults', 'SubmitToolResultsRequest');
      const message = 'no call with the id "unasked01" waits for a result';
      connection.send(requestId, 'error', { code: 3012, name: 'NO_RESULTS_AWAITED', message });
      await stage.error(id, [3012], 'SubmitToolResultsRequest');
      await turn.text('Well.').end().complete();
    },
  },
];
