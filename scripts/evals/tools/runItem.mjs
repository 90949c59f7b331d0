// Runs one item through the server: an agent with a single ToolCall node, and one message.
import { withAgent } from '../evalServer.mjs';
import { detectedCalls, incompleteCalls, unreadCalls } from './readCalls.mjs';

// Expected answers are much shorter.
const maxTokens = 256;

/** Sampling of all nodes: greedy. */
export const sampling = { temperature: 0, max_tokens: maxTokens };

/** Parameters of a ToolCall node that offers these tools in a row's format and mode. */
export const toolParams = (tools, { format, mode }) => ({
  tools,
  ...(format && { tool_call_format: format }),
  ...(mode === 'strict' && { strict: true }),
  // The text is sent too: one that looks like a call, but is none, is a decode failure.
  generate_on_no_tool: true,
  sampling,
});

/** The graph of an item; its model is the agent's. */
export const graphOf = (tools, row) => ({
  start_node: 'call',
  nodes: { call: { type: 'ToolCall', params: toolParams(tools, row) } },
});

/**
 * Runs an item; returns the answer (see compare.mjs), its generated tokens and its time in milliseconds.
 * @throws {Error} The Fault of a turn that failed.
 */
export const runItem = (client, model, item, row) =>
  withAgent(client, { model, graph: graphOf(item.tools, row) }, async (agent) =>
    toAnswer(await agent.send(item.message)),
  );

/** A turn as an answer to compare. */
export function toAnswer(turn) {
  const unread = unreadCalls(turn);
  return {
    calls: [...detectedCalls(turn), ...incompleteCalls(turn)],
    text: [turn.text, ...unread.map((call) => call.text)].join('\n').trim(),
    truncated: unread.some(({ reason }) => /cut off|text ends/.test(reason)),
    tokens: turn.tokens.generated,
    ms: turn.durationMs,
  };
}
