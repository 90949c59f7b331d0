import { describe, expect, it } from 'vitest';
import { chat, lamp } from '../helpers/graphs.ts';
import { subprotocols, TestClient, useServer } from '../helpers/server.ts';

const call = '<tool_call>\n{"name": "set_light", "arguments": {"name": "porch", "on": true}}\n</tool_call>';
const server = useServer({
  script: [
    { match: 'porch', node: 'detect', answer: `${call}<|eom|>` },
    { match: 'think', answer: '<think>Hm.</think>\n\nYes.' },
  ],
});

interface InferencePayload {
  readonly prompt: readonly { readonly text: string; readonly special: boolean }[];
  readonly text: string;
}

describe.each(subprotocols)('over %s, the inference events of a turn', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);
  const inferencesOf = (turn: Awaited<ReturnType<TestClient['sendMessage']>>) => {
    const events = turn.events.filter(({ eventType }) => eventType === 'inference');
    const starts = events.flatMap(({ part }, index) => (part === 1 ? [index] : []));
    return starts.map((start, index) => {
      const parts = events.slice(start, starts[index + 1]);
      expect(parts.map(({ part, of }) => [part, of])).toEqual(parts.map((_, at) => [at + 1, parts.length]));
      const payload = JSON.parse(parts.map(({ payloadJson }) => payloadJson).join('')) as InferencePayload;
      return { node: parts[0]?.nodeName, parts: parts.length, payload };
    });
  };

  it('show the prompt, the raw text, the sampling and the costs of each inference', async () => {
    await using client = await connect();
    const graph = lamp({ sampling: { max_tokens: 77 }, tool_call_format: 'chatml', system_prompt: 'Be a lamp.' });
    const agentId = await client.createAgent(graph, { enableDiagnostics: true });
    const called = inferencesOf(await client.sendMessage(agentId, 'porch <|im_end|>'));
    expect(called).toMatchObject([
      {
        node: 'detect',
        payload: {
          text: `${call}<|eom|>`,
          finish_reason: 'end',
          sampling: { temperature: 0, max_tokens: 77, stop: [] },
          tokens: { prompt: expect.any(Number), reused: 0, generated: expect.any(Number) },
          timings: { queued_ms: 0, first_token_ms: expect.any(Number), total_ms: expect.any(Number) },
          format: 'chatml',
          because: 'the node names it',
          model: expect.any(String),
        },
      },
    ]);
    const [prompt = []] = called.map(({ payload }) => payload.prompt);
    expect(prompt.filter(({ special }) => special).map(({ text }) => text)).toEqual(['system: ', 'user: ']);
    expect(prompt.at(1)?.text).toMatch(/^Be a lamp\.\n\n# Tools\n/);
    expect(prompt.at(-1)).toEqual({ text: 'porch <|im_end|>\n', special: false });
  });

  it('come from each node that infers, and hold reasoning', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(lamp(), { enableDiagnostics: true });
    const turn = await client.sendMessage(agentId, 'think');
    expect(turn.text).toBe('Yes.');
    expect(inferencesOf(turn).map(({ node, payload }) => [node, payload.text])).toEqual([
      ['detect', '<think>Hm.</think>\n\nYes.'],
      ['answer', '<think>Hm.</think>\n\nYes.'],
    ]);
  });

  it('have the samplers in effect: a change replaces logit_bias, dry and xtc as a whole', async () => {
    await using client = await connect();
    const sampling = { logit_bias: { no: false, ' No': -2 }, xtc: { probability: 0.5 } };
    const agentId = await client.createAgent(chat({ sampling }), { enableDiagnostics: true });
    const used = async (): Promise<unknown> => {
      const [inference] = inferencesOf(await client.sendMessage(agentId, 'hello'));
      return Object(inference?.payload)['sampling'] as unknown;
    };
    expect(await used()).toMatchObject({
      ...sampling,
      xtc: { probability: 0.5, threshold: 0.1 },
      dry: { multiplier: 0 },
    });
    const changes = { sampling: { logit_bias: { yes: 3 }, dry: { multiplier: 0.8 }, xtc: null } };
    await client.request('changeParams', { agentId, nodeName: 'answer', paramsJson: JSON.stringify(changes) });
    const changed = Object(await used()) as Readonly<Record<string, unknown>>;
    expect(changed['logit_bias']).toEqual({ yes: 3 });
    expect(changed).toMatchObject({ dry: { multiplier: 0.8, allowed_length: 2 }, xtc: { probability: 0 } });
  });

  it('come in parts where they do not fit in a frame', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(chat(), { enableDiagnostics: true });
    const message = '🎉 "\n'.repeat(4_000);
    const [inference] = inferencesOf(await client.sendMessage(agentId, message));
    expect(inference?.parts).toBeGreaterThan(1);
    expect(inference?.payload.prompt.at(-1)).toEqual({ text: `${message}\n`, special: false });
  });

  it('are not sent without diagnostics', async () => {
    await using client = await connect();
    expect((await client.sendMessage(await client.createAgent(lamp()), 'think')).events).toEqual([]);
  });
});
