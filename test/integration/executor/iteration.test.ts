import { describe, expect, it } from 'vitest';
import { executor, type Client, type TurnHandle, type TurnUpdate } from '../../../src/client/index.ts';
import { codecs } from '../../helpers/depth.ts';
import { openClient, weatherEngine } from '../../helpers/executorGraphs.ts';
import { weather } from '../../helpers/resultGraphs.ts';
import { useServer } from '../../helpers/server.ts';

const engine = weatherEngine();
const server = useServer({ engines: { mock: engine } });

async function updatesOf(turn: TurnHandle): Promise<readonly TurnUpdate[]> {
  const updates: TurnUpdate[] = [];
  for await (const update of turn) updates.push(update);
  return updates;
}

/** An update as a short text. */
function textOf(update: TurnUpdate): string {
  switch (update.type) {
    case 'text':
      return `${update.nodeName}: ${update.text}`;
    case 'field':
      return `${update.name}=${update.value}`;
    case 'call':
      return `call ${update.call.toolName}`;
    case 'tool':
      return `${update.state} ${update.call.toolName}`;
    case 'event':
      return `event ${update.event.eventType}`;
    case 'complete':
      return `complete ${update.summary.status} ${update.summary.text}`;
    default:
      return update satisfies never;
  }
}

describe.each(codecs)('over %s, a turn in a loop', (codec) => {
  const open = (): Promise<Client> => openClient(server().url, { codec });
  const sunny = executor({ get_weather: { run: () => 'sun' } });

  it('gives all that happens, in order, and last its summary', async () => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather() });
    const turn = agent.turn('Paris', { tools: sunny });
    const updates = (await updatesOf(turn)).map(textOf);
    expect(updates).toEqual([
      'call get_weather',
      'started get_weather',
      'completed get_weather',
      'answer: It ',
      'answer: is ',
      'answer: fine.',
      'complete SUCCESS It is fine.',
    ]);
    // Later, and once more.
    expect((await updatesOf(turn)).map(textOf)).toEqual(updates);
  });

  it('gives the events of nodes, with parsed payloads', async () => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather({}, { loops: true }), enableDiagnostics: true });
    const updates = await updatesOf(agent.turn('aunt', { tools: sunny }));
    const events = updates.flatMap((update) => (update.type === 'event' ? [update.event] : []));
    expect(events[0]).toEqual({ nodeName: 'detect', eventType: 'node_started', mode: 'AUTO', payload: {} });
    expect(updates.at(-1)).toMatchObject({ type: 'complete', summary: { events } });
  });

  it('is cancelled when the loop is left', async () => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather() });
    const signals: AbortSignal[] = [];
    const tools = executor({
      get_weather: {
        run: (_, { signal }) => {
          signals.push(signal);
          return new Promise(() => {});
        },
      },
    });
    const turn = agent.turn('Paris', { tools });
    for await (const update of turn) if (update.type === 'tool') break;
    expect(signals[0]?.aborted).toBe(true);
    expect((await turn).status).toBe('CANCELLED');
    expect((await agent.send('hello')).status).toBe('SUCCESS');
  });

  it('is cancelled when the loop throws', async () => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather() });
    const turn = agent.turn('Paris');
    await expect(async () => {
      for await (const update of turn) throw new Error(`no ${update.type}`);
    }).rejects.toThrow('no call');
    expect((await turn).status).toBe('CANCELLED');
  });

  it('is cancelled by its signal, and then ends with its summary', async () => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather() });
    const aborter = new AbortController();
    const texts: string[] = [];
    for await (const update of agent.turn('Paris', { signal: aborter.signal })) {
      texts.push(textOf(update));
      if (update.type === 'call') aborter.abort();
    }
    expect(texts).toEqual(['call get_weather', 'complete CANCELLED ']);
  });

  it('is not cancelled when the loop is left at its end', async () => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather() });
    const turn = agent.turn('Paris', { tools: sunny });
    for await (const update of turn) if (update.type === 'complete') break;
    expect((await turn).status).toBe('SUCCESS');
  });

  it('throws the error of the turn after its last update', async () => {
    await using client = await open();
    const agent = await client.createAgent({ graph: weather() });
    const tools = executor({ get_weather: { run: () => 'sun '.repeat(50_000) } });
    const updates: string[] = [];
    await expect(async () => {
      for await (const update of agent.turn('Paris', { tools })) updates.push(textOf(update));
    }).rejects.toMatchObject({ code: 4004 });
    expect(updates).toEqual(['call get_weather', 'started get_weather', 'completed get_weather']);
  });
});
