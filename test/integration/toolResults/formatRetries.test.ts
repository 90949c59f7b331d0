import { describe, expect, it } from 'vitest';
import { defineFormat } from '../../../src/index.ts';
import type { JsonNumber } from '../../../src/chat/json/value.ts';
import { scriptedEngine, weather } from '../../helpers/resultGraphs.ts';
import { subprotocols, TestClient, useServer } from '../../helpers/server.ts';

/** A format of one line: `>name city`. A line without a city is unread. Without `!` at its end, a cut line is, too. */
const lines = defineFormat({
  name: 'lines',
  place: 'system',
  retries: 1,
  retriesUnknown: true,
  stop: ['\n='],
  render: () => 'Write >name city!',
  detect(text, { isCutOff = false } = {}) {
    const [line = '', name = '', city = '', end = ''] = /^>(\w*) ?(\w*)(!?)$/m.exec(text) ?? [];
    if (line === '') return { calls: [], residual: text, truncated: false };
    const truncated = isCutOff && end === '';
    if (city === '' || truncated)
      return { calls: [], residual: text, truncated, unread: [{ text: line, reason: 'the line has no city' }] };
    const args = new Map<string, string | JsonNumber>([['city', city]]);
    const call = { name, arguments: args, raw: line, repaired: false };
    return { calls: [call], residual: text.replace(line, '').trim(), truncated: false };
  },
});

const engine = scriptedEngine([
  { match: 'unread', node: 'detect', nth: 1, answer: 'Let me see.\n>get_weather\nSo it is.' },
  { match: 'unread', node: 'detect', nth: 2, answer: '>get_weather Oslo!' },
  { match: 'never', node: 'detect', answer: 'Let me see.\n>get_weather\nSo it is.' },
  { match: 'unknown', node: 'detect', nth: 1, answer: '>get_tide Oslo!' },
  { match: 'unknown', node: 'detect', nth: 2, answer: '>get_weather Oslo!' },
  { match: 'stubborn', node: 'detect', answer: '>get_tide Oslo!' },
  { match: 'gives up', node: 'detect', nth: 1, answer: '>get_tide Oslo!' },
  { match: 'gives up', node: 'detect', nth: 2, answer: 'I cannot.' },
  { match: 'invents', node: 'detect', answer: 'It is fine and warm.\n= 18 degrees' },
  { match: 'cut', node: 'detect', answer: '>get_weather Oslo' },
  { match: '', node: 'answer', answer: 'Done.' },
]);
const server = useServer({ engines: { mock: engine }, extension: { formats: [lines] } });
const asking = (params: object = {}) =>
  weather({ await_results: false, generate_on_no_tool: true, tool_call_format: 'lines', ...params });

describe.each(subprotocols)('over %s, a format that says when it asks again', (subprotocol) => {
  async function talk(message: string, params: object = {}) {
    await using client = await TestClient.connect(server().url, subprotocol);
    const turn = await client.sendMessage(await client.createAgent(asking(params)), message);
    const events = turn.events.map(({ eventType, payloadJson }) => [eventType, JSON.parse(payloadJson) as unknown]);
    return { ...turn, events };
  }
  const oslo = [{ toolName: 'get_weather', argumentsJson: '{"city": "Oslo"}', known: true }];

  it('does so as often as it says, with what it could not read', async () => {
    const { calls, events, warnings } = await talk('unread');
    // The second try has made it good.
    expect(warnings).toEqual([]);
    expect(calls).toMatchObject(oslo);
    expect(events).toEqual([
      ['call_unread', { text: '>get_weather', reason: 'the line has no city' }],
      ['tool_retry', { reason: 'the call could not be read: the line has no city', attempt: 1 }],
    ]);
  });

  it('warns once of what stays unread', async () => {
    expect((await talk('never')).warnings).toEqual([expect.stringContaining('the line has no city; set strict')]);
  });

  it('has what it could not read in no answer', async () => {
    const { text, calls, events } = await talk('never');
    expect({ text, calls }).toEqual({ text: 'Let me see.\nSo it is.Done.', calls: [] });
    expect(events.map(([type]) => type)).toEqual(['call_unread', 'tool_retry', 'call_unread']);
  });

  it('is asked again as often as the graph says, where it does', async () => {
    expect((await talk('never', { retries: 0 })).events.map(([type]) => type)).toEqual(['call_unread']);
    expect((await talk('unknown', { retries: 0 })).calls).toMatchObject([{ toolName: 'get_tide', known: false }]);
  });

  it('asks again after a call of an unknown tool, and names the tools', async () => {
    const { calls, events } = await talk('unknown');
    const reason = 'there is no tool "get_tide", but get_weather, find_person';
    expect(calls).toMatchObject(oslo);
    expect(events).toEqual([['tool_retry', { reason, attempt: 1 }]]);
    expect(engine.prompts.at(-2)?.messages.at(-1)?.text).toContain(reason);
  });

  it('leaves the unknown tool to the client after that, unless the model gives it up', async () => {
    expect((await talk('stubborn')).calls).toMatchObject([{ toolName: 'get_tide', known: false }]);
    expect(await talk('gives up')).toMatchObject({ calls: [], text: 'I cannot.Done.' });
  });

  it('ends a reply at its stop strings, and at those of the graph', async () => {
    expect((await talk('invents')).text).toBe('It is fine and warm.Done.');
    expect((await talk('invents', { sampling: { stop: [' and'] } })).text).toBe('It is fineDone.');
    expect((await talk('invents', { tool_choice: 'none' })).text).toBe('It is fine and warm.\n= 18 degreesDone.');
  });

  it('learns whether the token limit ended the reply', async () => {
    expect((await talk('cut')).calls).toMatchObject(oslo);
    const { calls, warnings } = await talk('cut', { sampling: { max_tokens: 3 }, retries: 0 });
    expect(calls).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining('raise sampling.max_tokens')]);
  });
});
