import { describe, expect, it } from 'vitest';
import { chatProjection, defineNode, inferenceParams, InferenceRunner, resolveModel } from '../../src/index.ts';
import { type ScriptLine, oneDayMs } from '../helpers/heldEngine.ts';
import { subprotocols, TestClient, useServer } from '../helpers/server.ts';

const answers = ['order', 'chat'];

/** Asks the model to choose, twice: with the dialog, and without it. */
const choose = defineNode({
  type: 'Choose',
  summary: 'Takes the exit of the most probable answer.',
  params: { type: 'object', additionalProperties: false, properties: { ...inferenceParams } },
  exits: answers,
  async create(params, context) {
    const use = await resolveModel(context, params.model_name);
    const inference = new InferenceRunner(use, context);
    const projection = chatProjection(use.model);
    return {
      async run(turn) {
        const request = { projection, system: 'Choose.', current: [{ role: 'user', text: turn.message }] } as const;
        await inference.score(turn, { ...request, dialog: false }, answers, { question: 1 });
        const { scores } = await inference.score(turn, request, answers, { question: 2 });
        return answers[scores.indexOf(Math.max(...scores))] ?? '';
      },
      [Symbol.asyncDispose]: () => inference[Symbol.asyncDispose](),
    };
  },
});

const script: readonly ScriptLine[] = [
  { match: 'beer', node: 'choose', nth: 2, scores: { order: 0.75, chat: 0.25 } },
  { match: 'slow', scores: { chat: 1 }, delay_ms: oneDayMs },
  { match: 'beer', answer: 'Here you are.' },
  { node: 'choose', scores: { order: 0.25, chat: 0.5 } },
];
const server = useServer({ script, extension: { nodeTypes: [choose] } });

const graph = {
  start_node: 'choose',
  nodes: {
    choose: { type: 'Choose', exits: { order: 'sell', chat: 'talk' } },
    sell: { type: 'Generate' },
    talk: { type: 'CannedResponse', params: { inline_strings: ['Hello.'] } },
  },
};

interface ScoringPayload {
  readonly prompt: readonly { readonly text: string }[];
}

describe.each(subprotocols)('over %s, a node that scores answers', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);

  it('takes the exit of the most probable one, and its inferences count', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(graph);
    expect(await client.sendMessage(agentId, 'hello')).toMatchObject({
      steps: 'choose:chat talk:default',
      text: 'Hello.',
      stopReason: 'END',
      tokensGenerated: 0,
      timeToFirstTokenMs: 0,
    });
    const turn = await client.sendMessage(agentId, 'a beer');
    expect(turn).toMatchObject({ steps: 'choose:order sell:default', text: 'Here you are.' });
    expect(turn.tokensPrompt).toBeGreaterThan(turn.tokensReused);
    expect(turn.tokensReused).toBeGreaterThan(0);
  });

  it('shows prompts, scores and notes in the events and in debug_info', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(graph, { enableDiagnostics: true });
    await client.sendMessage(agentId, 'hello');
    const { events, debugInfo } = await client.sendMessage(agentId, 'a beer');
    const payloads = events
      .filter(({ eventType, nodeName }) => eventType === 'inference' && nodeName === 'choose')
      .map(({ payloadJson }) => JSON.parse(payloadJson) as ScoringPayload);
    const scoresOf = (order: number, chat: number): object[] => [
      { answer: 'order', score: expect.closeTo(Math.log(order)) },
      { answer: 'chat', score: expect.closeTo(Math.log(chat)) },
    ];
    const common = { text: '', finish_reason: 'end', model: expect.any(String), tokens: { generated: 0 } };
    expect(payloads).toMatchObject([
      { ...common, question: 1, scores: scoresOf(0.25, 0.5) },
      { ...common, question: 2, scores: scoresOf(0.75, 0.25) },
    ]);
    for (const payload of payloads) expect(payload).not.toHaveProperty('sampling');
    const [first, second] = payloads.map(({ prompt }) => prompt.map(({ text }) => text).join(''));
    expect(first).toBe('system: Choose.\nuser: a beer\n');
    expect(second).toBe('system: Choose.\nuser: hello\nassistant: Hello.\nuser: a beer\n');
    expect(JSON.parse(debugInfo)).toMatchObject({
      inferences: [
        { node: 'choose', question: 1, scores: scoresOf(0.25, 0.5), stopped: 'end' },
        { node: 'choose', question: 2, scores: scoresOf(0.75, 0.25), stopped: 'end' },
        { node: 'sell' },
      ],
    });
  });

  it('stops when the turn is cancelled', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(graph, { enableDiagnostics: true });
    const requestId = client.send('sendMessage', { agentId, text: 'slow' });
    await client.waitFor(({ body, requestId: id }) => id === requestId && body === 'nodeEvent');
    await client.request('cancelTurn', { agentId });
    const turn = await client.turnOf(requestId);
    expect(turn).toMatchObject({ status: 'CANCELLED', stopReason: 'ABORTED' });
    const [event] = turn.events.filter(({ eventType }) => eventType === 'inference');
    expect(JSON.parse(event?.payloadJson ?? '{}')).toMatchObject({ finish_reason: 'aborted' });
    expect((await client.sendMessage(agentId, 'hello')).text).toBe('Hello.');
  });
});
