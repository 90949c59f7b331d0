import { describe, expect, it } from 'vitest';
import { lastPrompt, scriptedEngine } from '../../helpers/resultGraphs.ts';
import { useServer } from '../../helpers/server.ts';

const engine = scriptedEngine([{ match: '', answer: 'Good evening, traveller.' }]);
const server = useServer({ openai: true, engines: { 'llama-cpp': engine } });

/** The content of the chunks of a stream, which ends as it should. */
async function streamed(body: object): Promise<string> {
  const headers = { 'content-type': 'application/json', authorization: 'Bearer ' };
  const url = `http://127.0.0.1:${server().port}/v1/chat/completions`;
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
  const events = (await response.text()).split('\n\n').filter((event) => event !== '');
  expect(events.at(-1)).toBe('data: [DONE]');
  const chunks = events.slice(0, -1).map((event) => JSON.parse(event.replace(/^data: /, '')) as Chunk);
  return chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
}

interface Chunk {
  readonly choices: readonly { readonly delta: { readonly content?: string } }[];
}

// The fields are those that the public sources of these programs send to a server of this API.
describe('the request of a chat front end', () => {
  it('as SillyTavern sends it to a custom source is answered', async () => {
    const text = await streamed({
      messages: [
        { role: 'system', content: 'Write the next reply of Mira.' },
        { role: 'system', content: 'Mira keeps a tavern.' },
        { role: 'system', content: 'Is it late?', name: 'example_user' },
        { role: 'system', content: '[Start a new Chat]' },
        { role: 'assistant', content: 'Welcome!' },
        { role: 'user', content: 'Good evening.' },
        { role: 'system', content: 'Stay in character.' },
      ],
      model: 'turngraph-demo',
      temperature: 1,
      max_tokens: 300,
      stream: true,
      presence_penalty: 0,
      frequency_penalty: 0,
      top_p: 1,
      stop: [],
      logit_bias: {},
      seed: 12345,
      n: 1,
    });
    expect(text).toBe('Good evening, traveller.');
    expect(lastPrompt(engine)).toEqual([
      'system: Write the next reply of Mira.\n\nMira keeps a tavern.\n\nexample_user: Is it late?\n\n[Start a new Chat]',
      'assistant: Welcome!',
      'user: Good evening.',
      'system: Stay in character.',
    ]);
  });

  it.each(['turngraph-demo', 'graph:chat'])('as Open WebUI sends it for %s is answered', async (model) => {
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'Good evening.' }] }];
    const text = await streamed({ stream: true, model, messages, stream_options: { include_usage: true } });
    expect(text).toBe('Good evening, traveller.');
  });

  it('as Open WebUI sends it with its parameters is answered', async () => {
    const text = await streamed({
      stream: true,
      model: 'turngraph-demo',
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'Good evening.' },
      ],
      temperature: 0.8,
      top_p: 0.9,
      max_tokens: 128,
      frequency_penalty: 0.5,
      seed: 0,
      stop: ['\nUser:'],
    });
    expect(text).toBe('Good evening, traveller.');
    expect(lastPrompt(engine)[0]).toBe('system: Be kind.');
  });
});
