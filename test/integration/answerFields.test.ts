import { describe, expect, it } from 'vitest';
import { openClient } from '../helpers/executorGraphs.ts';
import type { ServerFrame } from '../../src/protocol/frames.gen.ts';
import { Gate } from '../helpers/gate.ts';
import { codecs } from '../helpers/depth.ts';
import { chat } from '../helpers/graphs.ts';
import { errorOf, subprotocols, TestClient, useServer } from '../helpers/server.ts';

const answer = (mood: string, say: string, price = 3): string => JSON.stringify({ mood, say, price });

/** Holds an answer after the first word of its speech. */
const gate = new Gate();

const server = useServer({
  script: [
    { match: 'room', answer: answer('calm', 'Upstairs, "the\ngreen" door. 😀') },
    { match: 'dog', answer: answer('angry', 'No dogs in here!') },
    { match: 'yawn', answer: answer('calm and tired', 'Hm.') },
    { match: 'hm', answer: '{"mood": "bored", "say": "Well."}' },
    { match: 'story', answer: answer('calm', 'Once upon a time there was an inn. '.repeat(20)) },
    { match: 'wait', gate, answer: answer('calm', 'Sit. And wait.') },
    { match: 'song', chunk: 1, answer: '<think>What would fit?</think>{"mood": "calm", "say": "La!", "price": 1}' },
  ],
});

const mood = { name: 'mood', type: 'enum', values: ['calm', 'angry', 'calm and tired'] };
const fields = [mood, { name: 'say', type: 'speech' }, { name: 'price', type: 'integer', minimum: 0 }];
const innkeeper = (params: object = {}) =>
  chat({ system_prompt: 'You keep an inn.', answer_fields: fields, ...params });

/** What came in a turn, in its order: fields as `mood="calm"`, pieces of the speech as they are. */
const shown = (frames: readonly ServerFrame[]): readonly string[] =>
  frames.flatMap((frame) => {
    if (frame.body === 'answerField') return [`${frame.answerField.name}=${frame.answerField.valueJson}`];
    return frame.body === 'answerText' && !frame.answerText.isFinal ? [frame.answerText.text] : [];
  });

/** The prompt of the last inference: its messages after the system message. */
const lastPrompt = (client: TestClient): string => {
  const payloads = client.received.flatMap(({ body, ...frame }) => {
    const { nodeEvent } = frame as { nodeEvent?: { eventType: string; payloadJson: string } };
    return body === 'nodeEvent' && nodeEvent?.eventType === 'inference' ? [nodeEvent.payloadJson] : [];
  });
  const { prompt } = JSON.parse(payloads.at(-1) ?? '{}') as { prompt: readonly { text: string }[] };
  return prompt.map(({ text }) => text).join('');
};

describe.each(codecs)('the fields of an answer in the TypeScript client over %s', (codec) => {
  it('come by callback, in a loop, and in the summary', async () => {
    await using client = await openClient(server().url, { codec });
    const agent = await client.createAgent({ graph: innkeeper() });
    const called: unknown[] = [];
    const turn = agent.send('A room?', { onField: (name, value, { node }) => called.push([node, name, value]) });
    const steps: string[] = [];
    for await (const update of turn) if (update.type !== 'event') steps.push(update.type);
    expect(steps.join(' ')).toMatch(/^field text .*text field complete$/);
    expect(called).toEqual([
      ['answer', 'mood', 'calm'],
      ['answer', 'price', 3],
    ]);
    expect(await turn).toMatchObject({ fields: { mood: 'calm', price: 3 }, text: 'Upstairs, "the\ngreen" door. 😀' });
  });
});

describe.each(subprotocols)('an answer in fields over %s', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);

  it('sends each field when it is complete, and streams the speech between them', async () => {
    await using client = await connect();
    const turn = await client.sendMessage(await client.createAgent(innkeeper()), 'A room?');
    expect(shown(turn.frames)).toEqual(['mood="calm"', 'Upstairs, ', '"the\ngreen" ', 'door. ', '😀', 'price=3']);
    const frame = turn.frames.find(({ body }) => body === 'answerField');
    expect(frame).toMatchObject({
      answerField: { agentId: 1, turnId: 1, node: 'answer', name: 'mood', valueJson: '"calm"' },
    });
    expect(turn).toMatchObject({ text: 'Upstairs, "the\ngreen" door. 😀', warnings: [], stopReason: 'END' });
  });

  it('tells the mood before the first word in 100 of 100 turns, by one inference each', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(innkeeper(), { enableDiagnostics: true });
    let first = 0;
    for (let turns = 1; turns <= 100; turns++) {
      const turn = await client.sendMessage(agentId, turns % 2 ? 'A room?' : 'My dog!');
      const { inferences } = JSON.parse(turn.debugInfo) as { inferences: readonly object[] };
      expect(inferences).toHaveLength(1);
      if (shown(turn.frames)[0]?.startsWith('mood=')) first++;
    }
    expect(first).toBe(100);
  });

  it('asks the model for the fields at the end of its system message', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(innkeeper(), { enableDiagnostics: true });
    await client.sendMessage(agentId, 'A room?');
    expect(lastPrompt(client)).toContain(
      'You keep an inn.\n\nAnswer in JSON of this form: {"mood": "calm" | "angry" | "calm and tired", "say": "what you say", "price": integer from 0}',
    );
  });

  it('keeps the speech in the dialog and in prompts', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(innkeeper(), { enableDiagnostics: true });
    await client.sendMessage(agentId, 'My dog!');
    await client.sendMessage(agentId, 'A room?');
    expect((await client.dialogOf(agentId))[0]).toEqual({ user: 'My dog!', assistant: 'No dogs in here!' });
    expect(lastPrompt(client)).toContain('No dogs in here!');
    expect(lastPrompt(client)).not.toContain('"angry", "say"');
  });

  it('keeps all fields in prompts with history "fields", also of a saved dialog', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(innkeeper({ history: 'fields' }));
    await client.sendMessage(agentId, 'My dog!');
    const saved = await client.dialogOf(agentId);
    const prompted = '{"mood": "angry", "say": "No dogs in here!", "price": 3}';
    expect(saved).toEqual([{ user: 'My dog!', assistant: 'No dogs in here!', prompted }]);
    const options = { enableDiagnostics: true, historyJson: JSON.stringify(saved) };
    await client.sendMessage(await client.createAgent(innkeeper(), options), 'A room?');
    expect(lastPrompt(client)).toContain(prompted);
  });

  it('takes another history between turns, and no other fields', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(innkeeper());
    const change = (params: object) =>
      client.request('changeParams', { agentId, nodeName: 'answer', paramsJson: JSON.stringify(params) });
    expect((await change({ history: 'fields' })).body).toBe('ack');
    await client.sendMessage(agentId, 'My dog!');
    expect((await client.dialogOf(agentId))[0]?.prompted).toContain('"mood": "angry"');
    expect(errorOf(await change({ answer_fields: [] })).name).toBe('PARAM_NOT_MUTABLE');
  });

  it('sends the speech in one frame where it is not streamed, in its place', async () => {
    await using client = await connect();
    const turn = await client.sendMessage(await client.createAgent(innkeeper({ stream: false })), 'My dog!');
    expect(shown(turn.frames)).toEqual(['mood="angry"', 'No dogs in here!', 'price=3']);
  });

  it('is without the reasoning before it', async () => {
    await using client = await connect();
    const turn = await client.sendMessage(await client.createAgent(innkeeper({ thinking: true })), 'A song!');
    expect(shown(turn.frames)).toEqual(['mood="calm"', 'L', 'a', '!', 'price=1']);
  });

  it('gives its fields to templates and branches of the turn', async () => {
    await using client = await connect();
    const cases = [{ exit: 'angry', when: { 'fields.mood': 'angry', 'fields.price': { $gt: 2 } } }];
    const say = (line: string) => ({ type: 'CannedResponse', params: { inline_strings: [line] } });
    const graph = {
      start_node: 'answer',
      nodes: {
        answer: { ...innkeeper().nodes.answer, exits: { default: 'mood' } },
        mood: { type: 'Branch', params: { cases }, exits: { angry: 'leave', otherwise: 'stay' } },
        leave: say('({{fields.mood}}, {{fields.price}}) Out!'),
        stay: say('({{fields.mood}}) Stay.'),
      },
    };
    const agentId = await client.createAgent(graph);
    expect((await client.sendMessage(agentId, 'My dog!')).text).toBe('No dogs in here!(angry, 3) Out!');
    expect((await client.sendMessage(agentId, 'A room?')).text).toContain('(calm) Stay.');
  });

  it('holds its fields back with its speech: a Guardrail reads them, a CannedResponse replaces them', async () => {
    await using client = await connect();
    const graph = {
      start_node: 'answer',
      nodes: {
        answer: { ...innkeeper({ hold: true, history: 'fields' }).nodes.answer, exits: { default: 'guard' } },
        guard: {
          type: 'Guardrail',
          params: { watch: 'answer', inline_strings: ['dogs', 'tired'] },
          exits: { triggered: 'instead', not_triggered: '' },
        },
        instead: { type: 'CannedResponse', params: { inline_strings: ['Well.'] } },
      },
    };
    const agentId = await client.createAgent(graph);
    expect(shown((await client.sendMessage(agentId, 'My dog!')).frames)).toEqual(['Well.']);
    expect(shown((await client.sendMessage(agentId, 'A yawn!')).frames)).toEqual(['Well.']);
    const passed = await client.sendMessage(agentId, 'A song!');
    expect(shown(passed.frames)).toEqual(['mood="calm"', 'price=1', 'La!']);
    expect(await client.dialogOf(agentId)).toEqual([
      { user: 'My dog!', assistant: 'Well.' },
      { user: 'A yawn!', assistant: 'Well.' },
      { user: 'A song!', assistant: 'La!', prompted: '{"mood": "calm", "say": "La!", "price": 1}' },
    ]);
  });

  it('ends at max_tokens without the fields after it, and says so', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(innkeeper({ sampling: { max_tokens: 40 } }));
    const turn = await client.sendMessage(agentId, 'A story!');
    expect(shown(turn.frames)[0]).toBe('mood="calm"');
    expect(turn.text).toMatch(/^Once upon .* inn$/);
    expect(turn).toMatchObject({
      stopReason: 'LENGTH',
      warnings: ['answer was cut off before "price" inside its fields; raise sampling.max_tokens'],
    });
    expect(shown(turn.frames)).not.toContain('price=3');
  });

  it('keeps what was said of a cancelled answer', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(innkeeper({ history: 'fields' }));
    const requestId = client.send('sendMessage', { agentId, text: 'Must I wait?' });
    await client.receive('answerText');
    await client.request('cancelTurn', { agentId });
    expect(await client.turnOf(requestId)).toMatchObject({ status: 'CANCELLED', text: 'Sit. ', warnings: [] });
    expect(await client.dialogOf(agentId)).toEqual([
      { user: 'Must I wait?', assistant: 'Sit. ', mark: 'cancelled', prompted: '{"mood": "calm", "say": "Sit. "}' },
    ]);
  });

  it('warns of fields that an engine without grammars has not written', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(innkeeper());
    const turn = await client.sendMessage(agentId, 'hm');
    expect(turn.text).toBe('Well.');
    expect(turn.warnings).toEqual(['answer wrote no value of "mood", "price" that answer_fields allow']);
    expect((await client.sendMessage(agentId, 'Hello')).text).toBe('You said: Hello');
  });

  it.each<[object, string]>([
    [{ answer_fields: [] }, '.answer_fields must not be empty'],
    [{ answer_fields: [mood] }, '.answer_fields must have one field of the type "speech", not none'],
    [
      { answer_fields: [...fields, { name: 'shout', type: 'speech' }] },
      '.answer_fields must have one field of the type "speech", not 2',
    ],
    [{ answer_fields: [...fields, mood] }, '.answer_fields[3].name is the name of two fields: "mood"; rename one'],
    [
      { answer_fields: [...fields, { name: 'x', type: 'enum' }] },
      '.answer_fields[3].values is missing: an enum needs its values',
    ],
    [
      { answer_fields: [...fields, { name: 'x', type: 'text', values: ['y'] }] },
      '.answer_fields[3].values belongs to an enum, not to the type "text"',
    ],
    [
      { answer_fields: [...fields, { ...mood, name: 'x', values: ['a', 'b', 'a'] }] },
      '.answer_fields[3].values[2] is there twice: "a"',
    ],
    [
      { answer_fields: [...fields, { ...mood, name: 'x', minimum: 1 }] },
      '.answer_fields[3].minimum belongs to a number, not to the type "enum"',
    ],
    [{ answer_fields: [...fields, { name: '', type: 'text' }] }, '.answer_fields[3].name must not be empty'],
    [
      { answer_fields: [...fields, { name: 'x', type: 'string' }] },
      '.answer_fields[3].type must be one of "speech", "enum", "text", "number", "integer", not "string"',
    ],
    [{ answer_fields: [...fields, { name: 'x', type: 'number', minimum: 2, maximum: 1 }] }, '.answer_fields[3]'],
    [
      { answer_fields: [...fields, { name: 'x', type: 'number', minimum: 0.5 }] },
      '.answer_fields[3].minimum must be an integer',
    ],
    [
      { answer_fields: fields, response_schema: { type: 'object' } },
      '.response_schema cannot be given together with answer_fields',
    ],
    [{ history: 'fields' }, '.history is "fields", and the node has no answer_fields'],
  ])('refuses %j with its place', async (params, message) => {
    await using client = await connect();
    await expect(client.createAgent(chat(params))).rejects.toThrow(`params${message}`.replaceAll('"', '\\"'));
  });
});
