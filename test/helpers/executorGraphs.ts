import { connect, type Client, type ConnectOptions, type ToolEvent } from '../../src/client/index.ts';
import type { MockEngine } from '../../src/inference/mock/engine.ts';
import { chatmlCall, lastPrompt, scriptedEngine } from './resultGraphs.ts';

const weatherIn = (city: string): string => chatmlCall('get_weather', { city });

/** A mock engine that calls tools of the graph `weather` by words of the message, and answers after them. */
export const weatherEngine = (): MockEngine =>
  scriptedEngine([
    { match: 'three', node: 'detect', nth: 1, answer: ['Paris', 'Oslo', 'Rome'].map(weatherIn).join('\n') },
    { match: 'aunt', node: 'detect', nth: 1, answer: chatmlCall('find_person', { who: 'aunt' }) },
    { match: 'aunt', node: 'detect', nth: 2, answer: weatherIn('Oslo') },
    {
      match: 'both',
      node: 'detect',
      nth: 1,
      answer: `${chatmlCall('find_person', { who: 'aunt' })}\n${weatherIn('Rome')}`,
    },
    { match: 'both', node: 'detect', nth: 2, answer: weatherIn('Paris') },
    { match: 'fly', node: 'detect', nth: 1, answer: chatmlCall('fly', { to: 'Paris' }) },
    { match: 'seven', node: 'detect', nth: 1, answer: chatmlCall('get_weather', { city: [7] }) },
    { match: 'nowhere', node: 'detect', nth: 1, answer: chatmlCall('get_weather', {}) },
    { match: 'loudly', node: 'detect', nth: 1, answer: chatmlCall('get_weather', { city: 'Paris', loud: true }) },
    { match: 'Paris', node: 'detect', nth: 1, answer: weatherIn('Paris') },
    { match: '', node: 'detect', answer: 'No call.' },
    { match: '', node: 'answer', answer: 'It is fine.' },
  ]);

/** Connects a client that uses the mock engine. */
export async function openClient(url: string, options: ConnectOptions): Promise<Client> {
  const client = await connect(url, options);
  await client.configure({ engine: 'mock' });
  return client;
}

/** The results in the last prompt of an engine, in their order. */
export const resultsIn = (engine: MockEngine): readonly string[] =>
  lastPrompt(engine).flatMap((line) => {
    const [, content] = /^user: <tool_response>\n(.*)\n<\/tool_response>$/s.exec(line) ?? [];
    return content === undefined ? [] : [content];
  });

/** Events as `state tool(city)`. */
export const eventTexts = (events: readonly ToolEvent[]): readonly string[] =>
  events.map(({ state, call }) => `${state} ${call.toolName}(${Object.values(call.arguments).join(', ')})`);
