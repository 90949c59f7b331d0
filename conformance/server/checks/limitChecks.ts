import { isDeepStrictEqual } from 'node:util';
import type { ServerFrame } from '../../../src/protocol/frames.gen.ts';
import { expectEqual, expectThat, NotApplicable } from '../../expect.ts';
import { CheckedConnection } from '../connection.ts';
import { useGeneration } from '../facts.ts';
import { canned } from '../graphs.ts';
import { answered, createAgent, expectError, runTurn } from '../requests.ts';
import type { ServerCheck } from '../serverUnderTest.ts';

const maxTried = { agents: 300, nodes: 5000, tools: 1000, entries: 100_001, requests: 5000, messageBytes: 1_000_000 };

const manyNodes = {
  start_node: 'n0',
  nodes: Object.fromEntries(
    Array.from({ length: maxTried.nodes }, (_, index) => [
      `n${index}`,
      {
        type: 'CannedResponse',
        params: { inline_strings: ['a'] },
        exits: { default: index + 1 < maxTried.nodes ? `n${index + 1}` : '' },
      },
    ]),
  ),
};

const manyTools = {
  start_node: 'detect',
  nodes: {
    detect: {
      type: 'ToolCall',
      params: {
        tools: Array.from({ length: maxTried.tools }, (_, index) => ({
          name: `tool_${index}`,
          description: 'A tool.',
        })),
        tool_call_format: 'chatml',
        generate_on_no_tool: true,
      },
    },
  },
};

/** Limits, which each server may choose: where one is above what is tried here, its check is skipped. */
export const limitChecks: readonly ServerCheck[] = [
  {
    name: 'Agents beyond the limit of a session are refused with 2005 until one is destroyed',
    section: 'Limits',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const graphJson = JSON.stringify(canned('Yes.'));
      for (let count = 0; count <= maxTried.agents; count++) {
        const answer = await connection.request('createAgent', { graphJson });
        if (answer.body === 'createAgent') continue;
        expectError(answer, 'LIMIT_EXCEEDED', 'createAgent');
        await answered(connection, ['destroyAgent', { agentId: 1 }], 'ack');
        return void (await createAgent(connection, canned('Yes.')));
      }
      throw new NotApplicable(`the server takes more than ${maxTried.agents} agents`);
    },
  },
  ...(
    [
      ['nodes', manyNodes],
      ['tools', manyTools],
    ] as const
  ).map(([what, graph]): ServerCheck => ({
    name: `A graph with more ${what} than the limit is refused with 2005`,
    section: 'Limits',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const source = { ...(await useGeneration(connection)), graphJson: JSON.stringify(graph) };
      const answer = await connection.request('createAgent', source);
      if (answer.body === 'createAgent') throw new NotApplicable(`the server takes ${maxTried[what]} ${what}`);
      expectError(answer, 'LIMIT_EXCEEDED', 'createAgent');
      expectEqual('the id of the next agent', await createAgent(connection, canned('Yes.')), 1);
    },
  })),
  {
    name: 'A message beyond the limit is refused with 2005, and the agent stays usable',
    section: 'Limits',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const agentId = await createAgent(connection, canned('Yes.'));
      const text = 'x'.repeat(maxTried.messageBytes);
      const answer = await connection.request('sendMessage', { agentId, text });
      if (answer.body === 'turnComplete') throw new NotApplicable('the server takes messages of a megabyte');
      expectError(answer, 'LIMIT_EXCEEDED', 'sendMessage');
      expectEqual('the id of the next turn', (await runTurn(connection, agentId, 'Hello')).complete.turnId, 1);
    },
  },
  {
    name: 'A string storage with more entries than the limit is refused with 2005',
    section: 'Limits',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const strings = Array.from({ length: maxTried.entries }, () => 'x');
      const answer = await connection.request('createStringStorage', { name: 'lines', strings });
      if (answer.body === 'createStringStorage')
        throw new NotApplicable(`the server takes ${maxTried.entries} entries`);
      expectError(answer, 'LIMIT_EXCEEDED', 'createStringStorage');
    },
  },
  {
    name: 'Requests that are sent in one burst are all answered, or end the connection with error 2005 and close 4429',
    section: 'Limits',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const agentId = await createAgent(connection, canned('Yes.'));
      const from = connection.frames.length;
      const ids = Array.from({ length: maxTried.requests }, () => connection.send('exportDialog', { agentId }));
      const isLast = ({ requestId }: ServerFrame): boolean => requestId === 0 || requestId === ids.at(-1);
      const last = await connection.waitFor(isLast, 'an answer to the last request', from);
      if (last.requestId !== 0) {
        const answers = connection.frames.slice(from).map(({ requestId }) => requestId);
        return expectThat(isDeepStrictEqual(answers, ids), 'an answer to each, in order', `${answers.length}`, 'Order');
      }
      expectError(last, 'LIMIT_EXCEEDED', 'the requests');
      expectEqual('seq of the error', last.seq, 0, 'ServerFrame');
      expectEqual('close', (await connection.untilClosed()).code, 4429, 'Close codes');
    },
  },
];
