import type { ClientFrameBodies } from '../../../src/protocol/frames.gen.ts';
import { expectEqual, expectThat, NotApplicable, shown } from '../../expect.ts';
import type { ProtocolSection } from '../../sections.ts';
import { CheckedConnection } from '../connection.ts';
import { fetchPage } from '../fetchPage.ts';
import { useEcho } from '../facts.ts';
import { canned } from '../graphs.ts';
import { answered, createAgent, refused } from '../requests.ts';
import type { ServerCheck } from '../serverUnderTest.ts';

/** The requests that name an agent, with what else they need. */
const agentRequests = [
  ['sendMessage', { text: 'Hello' }, 'SendMessageRequest'],
  ['cancelTurn', {}, 'CancelTurnRequest'],
  ['changeParams', { nodeName: 'say', paramsJson: '{}' }, 'ChangeParamsRequest'],
  ['exportDialog', {}, 'ExportDialogRequest'],
  ['appendDialog', { user: 'A', assistant: 'B' }, 'AppendDialogRequest'],
  ['appendText', { text: 'A' }, 'AppendTextRequest'],
  ['setAgentMode', {}, 'SetAgentModeRequest'],
  ['setVariables', { variablesJson: '{}' }, 'SetVariablesRequest'],
  ['clearDialog', {}, 'ClearDialogRequest'],
  ['destroyAgent', {}, 'DestroyAgentRequest'],
] as const satisfies readonly (readonly [keyof ClientFrameBodies, object, ProtocolSection])[];

/** Agents and their ids. */
export const agentChecks: readonly ServerCheck[] = [
  {
    name: 'Agents have the ids 1, 2, 3 in each session, and no id is used twice',
    section: 'CreateAgentResponse',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const create = (): Promise<number> => createAgent(connection, canned('Yes.'));
      const ids = [await create(), await create()];
      await answered(connection, ['destroyAgent', { agentId: 2 }], 'ack');
      ids.push(await create());
      expectEqual('ids', ids, [1, 2, 3]);
    },
  },
  {
    name: 'An agent that could not be created leaves its id to the next one',
    section: 'Order',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      await refused(connection, ['createAgent', { graphJson: '{' }], 'GRAPH_COMPILATION_FAILED', 'CreateAgentRequest');
      expectEqual('id', await createAgent(connection, canned('Yes.')), 1);
    },
  },
  {
    name: 'An agent is created from a graph of the server by its name',
    section: 'CreateAgentRequest',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const { graphs } = JSON.parse((await fetchPage(server, '/graphs')).body) as {
        readonly graphs: readonly string[];
      };
      if (graphs.length === 0) throw new NotApplicable('the server has no graph');
      await useEcho(connection);
      const answers: string[] = [];
      for (const graphName of graphs) {
        const answer = await connection.request('createAgent', { graphName });
        if (answer.body === 'createAgent') return;
        answers.push(shown(answer));
      }
      expectThat(false, `an agent of one of ${graphs.join(', ')}`, answers[0] ?? 'nothing');
    },
  },
  {
    name: 'Requests for an agent that never was are refused with 3001',
    section: 'Error codes',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      for (const [body, fields, section] of agentRequests)
        await refused(connection, [body, { agentId: 7, ...fields }], 'INVALID_AGENT_ID', section);
      await refused(connection, ['submitToolResults', { agentId: 7 }], 'INVALID_AGENT_ID', 'SubmitToolResultsRequest');
    },
  },
  {
    name: 'Requests for an agent that was destroyed are refused with 3002',
    section: 'Error codes',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const agentId = await createAgent(connection, canned('Yes.'));
      await answered(connection, ['destroyAgent', { agentId }], 'ack');
      for (const [body, fields, section] of agentRequests)
        await refused(connection, [body, { agentId, ...fields }], 'AGENT_ALREADY_DESTROYED', section);
    },
  },
  {
    name: 'All faults of a graph are listed with their places',
    section: 'ErrorResponse',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const graph = {
        start_node: 'a/b',
        nodes: {
          'a/b': { type: 'CannedResponse', params: { inline_string: ['Yes.'] }, exits: { default: 'nowhere' } },
        },
      };
      const request = { graphJson: JSON.stringify(graph) };
      const error = await refused(connection, ['createAgent', request], 'GRAPH_COMPILATION_FAILED');
      const faults = JSON.parse(error.detail) as readonly {
        readonly code: string;
        readonly pointer: string;
        readonly message: string;
      }[];
      expectEqual(
        'codes and pointers',
        faults.map(({ code, pointer }) => `${code} ${pointer}`),
        ['GRAPH_COMPILATION_FAILED /nodes/a~1b/params/inline_string', 'INVALID_EXIT_TARGET /nodes/a~1b/exits/default'],
      );
    },
  },
];
