import { describe, expect, it } from 'vitest';
import { connect, type Client } from '../../../src/client/index.ts';
import { codecs } from '../../helpers/depth.ts';
import { chatmlCall, lastPrompt, scriptedEngine, weather } from '../../helpers/resultGraphs.ts';
import { useServer } from '../../helpers/server.ts';

const engine = scriptedEngine([
  { match: 'Paris', node: 'detect', nth: 1, answer: chatmlCall('get_weather', { city: 'Paris' }) },
  { match: '', node: 'detect', answer: 'No call.' },
  { match: '', node: 'answer', answer: 'It is fine.' },
]);
const server = useServer({ engines: { mock: engine } });

describe.each(codecs)('an agent of the client over %s', (codec) => {
  const open = async (): Promise<Client> => {
    const client = await connect(server().url, { codec });
    await client.configure({ engine: 'mock' });
    return client;
  };

  it('takes results from a program that runs its calls by itself', async () => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather() });
    const turn = agent.send('How is it in Paris?', {
      onCall: ({ callId, turnId, arguments: { city } }) =>
        void agent.submitToolResults([{ callId, content: `rain in ${String(city)}` }], { turnId }),
    });
    expect(await turn).toMatchObject({ text: 'It is fine.', warnings: [] });
    expect(lastPrompt(engine).at(-1)).toContain('rain in Paris');
  });

  it('marks a result as a failure where the program says so', async () => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather() });
    await agent.send('How is it in Paris?', {
      onCall: ({ callId }) => void agent.submitToolResults([{ callId, ok: false, content: 'no such city' }]),
    });
    expect(lastPrompt(engine).at(-1)).toContain('Error: no such city');
  });

  it.each([
    ['in no turn', {}, 'in no turn'],
    ['for another turn', { turnId: 9 }, 'in no turn'],
  ])('rejects results %s', async (_, options, message) => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather() });
    await expect(agent.submitToolResults([{ callId: 'a', content: '' }], options)).rejects.toMatchObject({
      code: 3012,
      message: expect.stringContaining(message) as string,
    });
  });

  it('adds to the dialog what was said elsewhere', async () => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather() });
    await agent.appendDialog({ user: 'Who are you?', assistant: 'The keeper.' });
    await agent.appendDialog({ assistant: 'Come in.' });
    expect(JSON.parse(await agent.exportDialog())).toEqual([
      { user: 'Who are you?', assistant: 'The keeper.' },
      { user: '', assistant: 'Come in.' },
    ]);
    await expect(agent.appendDialog({})).rejects.toMatchObject({ code: 5001 });
  });
});
