// Plays one conversation of the two-turn loop.
import { withAgent } from '../evalServer.mjs';
import { toAnswer, toolParams } from '../tools/runItem.mjs';

/** @typedef {'message' | 'variable'} ResultWiring */

/**
 * How the client tells the result: in the user's next message, or in a variable that the system prompt shows.
 * @type {readonly ResultWiring[]}
 */
export const wirings = ['message', 'variable'];

// As in docs/executor.md.
const system_prompt = '{{#previous_tool_results}}Results of your last calls: {{.}}{{/previous_tool_results}}';

/** The graph of a conversation: a ToolCall node that does not wait for results. */
const twoTurnGraphOf = (tools, { format, wiring }) => ({
  start_node: 'call',
  nodes: {
    call: {
      type: 'ToolCall',
      params: { ...toolParams(tools, { format }), ...(wiring === 'variable' && { system_prompt }) },
    },
  },
});

/**
 * Plays both messages with one agent; returns them and what came (see compare.mjs).
 * @throws {Error} The Fault of a turn that failed.
 */
export const playTwoTurns = (client, model, item, row) =>
  withAgent(client, { model, graph: twoTurnGraphOf(item.tools, row) }, async (agent) => {
    const first = toAnswer(await agent.send(item.message));
    const isTold = row.wiring === 'message';
    const message = isTold ? `${item.told} ${item.next}` : item.next;
    const variables = isTold ? {} : { previous_tool_results: JSON.stringify([resultOf(item, first.calls)]) };
    const second = toAnswer(await agent.send(message, { variables }));
    return { messages: [item.message, message], first, second };
  });

// The result is that of the call that came, as an executor has it; without a call, of the expected one.
function resultOf({ call, result }, [made]) {
  const expected = Object.fromEntries(Object.entries(call.arguments).map(([name, [value]]) => [name, value]));
  return { name: made?.name ?? call.name, arguments: made?.arguments ?? expected, ok: true, content: result };
}
