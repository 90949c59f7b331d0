// Runs one item through the server: an agent with a single ToolCall node, and one message.

// Expected answers are much shorter.
const maxTokens = 256;

/** The graph of an item; its model is the agent's. */
export const graphOf = (tools, { format, mode }) => ({
  start_node: 'call',
  nodes: {
    call: {
      type: 'ToolCall',
      params: {
        tools,
        tool_call_format: format,
        ...(mode === 'strict' && { strict: true }),
        // The text is sent too: one that looks like a call, but is none, is a decode failure.
        generate_on_no_tool: true,
        sampling: { temperature: 0, max_tokens: maxTokens },
      },
    },
  },
});

/**
 * Runs an item; returns the answer (see compare.mjs), its generated tokens and its time in milliseconds.
 * @throws {Error} The Fault of a turn that failed.
 */
export async function runItem(client, model, item, row) {
  const graph = { default_model_name: model, ...graphOf(item.tools, row) };
  const agent = await client.createAgent({ graph });
  try {
    const { calls, events, text, tokens, durationMs } = await agent.send(item.message).done;
    const unread = events.filter(({ eventType }) => eventType === 'call_unread').map(({ payload }) => payload);
    return {
      calls: [
        ...calls.map(({ toolName, arguments: given }) => ({ name: toolName, arguments: given })),
        ...incompleteCalls(events),
      ],
      // The server leaves markup that it could not read out of the answer.
      text: [text, ...unread.map((call) => call.text)].join('\n').trim(),
      truncated: unread.some(({ reason }) => /cut off|text ends/.test(reason)),
      tokens: tokens.generated,
      ms: durationMs,
    };
  } finally {
    await agent.destroy().catch(() => {});
  }
}

// A call without a required parameter is reported as an insight instead of a call; here it counts as a (wrong) call.
const incompleteCalls = (events) =>
  events
    .filter(({ eventType }) => eventType === 'tool_insight')
    .map(({ payload }) => ({ name: payload.tool, arguments: {} }));
