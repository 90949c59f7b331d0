import { describe, expect, it } from 'vitest';
import { house, houseGuidelines } from '../helpers/guidelineGraphs.ts';
import { oneSubprotocol, TestClient, useServer } from '../helpers/server.ts';

const server = useServer({});

interface InferencePayload {
  readonly prompt: readonly { readonly text: string }[];
  readonly text: string;
  readonly tokens: { readonly prompt: number; readonly reused: number; readonly generated: number };
}

interface SelectionPayload {
  readonly guidelines: readonly { readonly probability: number }[];
  readonly not_matched: readonly { readonly probability: number }[];
}

describe.each(oneSubprotocol)('SelectTools with the demo model, over %s', (subprotocol) => {
  it('decides each condition with a probability, and evaluates what the questions have in common once', async () => {
    await using client = await TestClient.connect(server().url, subprotocol, 'llama-cpp');
    const graph = { default_model_name: 'turngraph-demo', ...house({ select: { match: 'model' } }) };
    const agentId = await client.createAgent(graph, { enableDiagnostics: true, warmUp: true });
    const play = async (text: string) => {
      const { events } = await client.sendMessage(agentId, text);
      const payloads = events
        .filter(({ nodeName }) => nodeName === 'select')
        .map(({ eventType, payloadJson }) => ({ eventType, payload: JSON.parse(payloadJson) as unknown }));
      const of = (type: string) => payloads.filter(({ eventType }) => eventType === type).map(({ payload }) => payload);
      const [selection] = of('tools_selected') as readonly SelectionPayload[];
      return { inferences: of('inference') as readonly InferencePayload[], selection };
    };
    const { inferences, selection } = await play('Please dim the light on the porch.');
    const judged = [...(selection?.guidelines ?? []), ...(selection?.not_matched ?? [])];
    expect(judged).toHaveLength(houseGuidelines.length);
    for (const { probability } of judged) {
      expect(probability).toBeGreaterThan(0);
      expect(probability).toBeLessThan(1);
    }
    const [first, ...others] = inferences;
    expect(first?.prompt.map(({ text }) => text).join('')).toMatchInlineSnapshot(`
      "<|im_start|>system
      Read the user's message and decide whether a condition holds. Reply with yes or no only.<|im_end|>
      <|im_start|>user
      Message: Please dim the light on the porch.
      Condition: the user speaks of the lights<|im_end|>
      <|im_start|>assistant
      "
    `);
    expect(others).toHaveLength(houseGuidelines.length - 1);
    // Only the last words of each condition differ.
    for (const { tokens, text } of others) {
      expect(tokens.prompt - tokens.reused).toBeLessThan(20);
      expect(tokens).toMatchObject({ generated: 0 });
      expect(text).toBe('');
    }
    // The instruction was evaluated before there was a message.
    expect(first?.tokens.reused).toBeGreaterThan(20);
    // The dialog so far is evaluated with the first question of a turn.
    const second = await play('And the one in the hall.');
    const third = await play('Now tell me a story.');
    expect(second.inferences[0]?.tokens.reused).toBe(first?.tokens.reused);
    expect(third.inferences[0]?.tokens.reused).toBeGreaterThan(first?.tokens.reused ?? Infinity);
  });
});
