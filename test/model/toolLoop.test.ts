import { describe, expect, it } from 'vitest';
import { setLight } from '../helpers/graphs.ts';
import { notifications, result } from '../helpers/resultGraphs.ts';
import { oneSubprotocol, TestClient, useServer } from '../helpers/server.ts';

const server = useServer({});

/** One ToolCall node that is visited again after the results of its calls. */
const loop = {
  default_model_name: 'turngraph-demo',
  start_node: 'detect',
  nodes: {
    detect: {
      type: 'ToolCall',
      params: { tools: [setLight], await_results: true, generate_on_no_tool: true, sampling: { max_tokens: 60 } },
      exits: { tool_called: 'detect' },
    },
  },
};

interface InferencePayload {
  readonly prompt: readonly { readonly text: string }[];
  readonly tokens: { readonly prompt: number; readonly reused: number };
}

describe.each(oneSubprotocol)('a ToolCall node that is visited again in a turn, over %s', (subprotocol) => {
  it('sees its call and the result, and evaluates only these', async () => {
    await using client = await TestClient.connect(server().url, subprotocol, 'llama-cpp');
    const agentId = await client.createAgent(loop, { enableDiagnostics: true });
    const requestId = client.send('sendMessage', { agentId, text: 'Please turn on the porch light.' });
    const [call] = await notifications(client, requestId, 1);
    await client.request('submitToolResults', { agentId, results: [result({ ...call, content: 'The lamp is lit.' })] });
    const inferences = () =>
      client.received.flatMap((frame) =>
        frame.body === 'nodeEvent' && frame.nodeEvent.eventType === 'inference'
          ? [JSON.parse(frame.nodeEvent.payloadJson) as InferencePayload]
          : [],
      );
    await client.waitFor(() => inferences().length >= 2);
    const [first, second] = inferences();
    // What the model makes of the result is another matter: it may call again, and the node would wait.
    await client.request('cancelTurn', { agentId });
    const textOf = (inference: InferencePayload | undefined) =>
      inference?.prompt.map(({ text }) => text).join('') ?? '';
    expect(textOf(second).startsWith(textOf(first))).toBe(true);
    expect(textOf(second).slice(textOf(first).length)).toMatchInlineSnapshot(`
      "<tool_call>
      {"name": "set_light", "arguments": {"name": "porch", "on": true}}
      </tool_call><|im_end|>
      <|im_start|>user
      <tool_response>
      The lamp is lit.
      </tool_response><|im_end|>
      <|im_start|>assistant
      "
    `);
    expect(second?.tokens.reused).toBeGreaterThanOrEqual(first?.tokens.prompt ?? Infinity);
  });
});
