import { describe, expect, it } from 'vitest';
import { chat } from '../helpers/graphs.ts';
import { useServer, TestClient, oneSubprotocol } from '../helpers/server.ts';

const server = useServer();
/** Tokens of `{"mood": "calm and tired", "say": "`, and of the price. */
const maxMoodTokens = 30;
const moods = ['calm', 'angry', 'calm and tired', 'wütend'];
const graph = (params: object) =>
  chat({
    model_name: 'turngraph-demo',
    sampling: { max_tokens: 60 },
    answer_fields: [
      { name: 'mood', type: 'enum', values: moods },
      { name: 'say', type: 'speech' },
      { name: 'price', type: 'integer', minimum: 1, maximum: 20 },
    ],
    ...params,
  });

describe.each(oneSubprotocol)('answers in fields of the demo model over %s', (subprotocol) => {
  it('begin with a mood, stream the speech, and take the tokens of one reply', async () => {
    await using client = await TestClient.connect(server().url, subprotocol, 'llama-cpp');
    const agentId = await client.createAgent(graph({ history: 'fields' }), { enableDiagnostics: true });
    let promptTokens = 0;
    for (const message of ['Hello!', 'Tell me a joke.', 'How are you today?']) {
      const turn = await client.sendMessage(agentId, message);
      const parts = turn.frames.filter(({ body }) => body === 'answerField' || body === 'answerText');
      const [first, second] = parts;
      expect(moods.map((mood) => JSON.stringify(mood))).toContain(
        first?.body === 'answerField' && first.answerField.valueJson,
      );
      expect(second?.body).toBe('answerText');
      // What is generated in addition to the pieces of the speech is the notation, the mood, and the end.
      expect(turn.tokensGenerated - parts.length).toBeLessThan(maxMoodTokens);
      const { inferences } = JSON.parse(turn.debugInfo) as { inferences: readonly object[] };
      expect(inferences).toHaveLength(1);
      // The dialog that has the fields continues what the KV cache holds.
      expect(turn.tokensReused).toBeGreaterThanOrEqual(promptTokens);
      promptTokens = turn.tokensPrompt;
    }
  });
});
