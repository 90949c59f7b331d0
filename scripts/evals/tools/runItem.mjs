// One item, asked over the wire: an agent with a single ToolCall node, one message, what the client hears.

// No answer that is due is nearly as long; a model that babbles is stopped here.
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
        // The text is heard too: one that looks like a call, but is none, tells of a decode failure.
        generate_on_no_tool: true,
        sampling: { temperature: 0, max_tokens: maxTokens },
      },
    },
  },
});

/** Asks an item of a model; gives what was heard and what it cost. A turn that fails rejects with its Fault. */
export async function runItem(client, model, item, row) {
  const graph = { default_model_name: model, ...graphOf(item.tools, row) };
  const agent = await client.createAgent({ graph });
  try {
    const { calls, events, text, warnings, tokens, durationMs } = await agent.send(item.message).done;
    return {
      calls: [
        ...calls.map(({ toolName, arguments: given }) => ({ name: toolName, arguments: given })),
        ...incompleteCalls(events),
      ],
      text,
      truncated: warnings.some((warning) => warning.includes('cut off inside a call')),
      tokens: tokens.generated,
      ms: durationMs,
    };
  } finally {
    await agent.destroy().catch(() => {});
  }
}

// A call without a required parameter is not notified but told of as an insight; here it is a call, and a wrong one.
const incompleteCalls = (events) =>
  events
    .filter(({ eventType }) => eventType === 'tool_insight')
    .map(({ payload }) => ({ name: payload.tool, arguments: {} }));
