import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { executor, type Client, type ExecutorOptions, type ToolRegistration } from '../../../src/client/index.ts';
import { codecs } from '../../helpers/depth.ts';
import { openClient, resultsIn, weatherEngine } from '../../helpers/executorGraphs.ts';
import { weather } from '../../helpers/resultGraphs.ts';
import { useServer } from '../../helpers/server.ts';

const engine = weatherEngine();
const server = useServer({ engines: { mock: engine } });

const cities = z.object({ city: z.enum(['Paris', 'Bonn']).transform(async (name) => new Map([['name', name]])) });
const schema = { type: 'object', properties: { city: { enum: ['Paris', 'Bonn'] } }, required: ['city'] };

describe.each(codecs)('over %s, a tool with parameters', (codec) => {
  /** Runs a turn. Returns what the tool got, and what the model read. */
  const runTurn = async (parameters: unknown, message: string, options: ExecutorOptions = {}) => {
    await using client: Client = await openClient(server().url, { codec });
    const agent = await client.createAgent({ graph: weather({ on_incomplete: 'notify' }) });
    const got: unknown[] = [];
    const tool = { parameters, run: (args: unknown) => void got.push(args) } as ToolRegistration<object>;
    await agent.send(message, { tools: executor({ get_weather: tool }, options) });
    return { got, results: resultsIn(engine) };
  };

  it('gets arguments that fit', async () => {
    expect(await runTurn(schema, 'Paris')).toEqual({ got: [{ city: 'Paris' }], results: ['ok'] });
  });

  it('gets what a Standard Schema makes of them, which is awaited', async () => {
    expect(await runTurn(cities, 'Paris')).toEqual({ got: [{ city: new Map([['name', 'Paris']]) }], results: ['ok'] });
  });

  it.each([
    ['a JSON Schema', schema, 'city: Instance does not match any of'],
    ['a Standard Schema', cities, 'city: Invalid option'],
  ])('does not run with arguments that do not fit %s', async (_, parameters, message) => {
    const { got, results } = await runTurn(parameters, 'three');
    expect(got).toHaveLength(1);
    expect(results).toEqual(['ok', ...Array(2).fill(expect.stringContaining(`Error: invalid arguments: ${message}`))]);
  });

  it('is checked by them instead of by the server', async () => {
    const list = { type: 'object', properties: { city: { type: 'array' } } };
    expect(await runTurn(list, 'seven')).toEqual({ got: [{ city: [7] }], results: ['ok'] });
  });

  it('is checked with the arguments that `before` gives', async () => {
    const mending = await runTurn(schema, 'seven', { before: () => ({ arguments: { city: 'Bonn' } }) });
    expect(mending).toEqual({ got: [{ city: 'Bonn' }], results: ['ok'] });
    const breaking = await runTurn(schema, 'Paris', { before: () => ({ arguments: { city: 'Ulm' } }) });
    expect(breaking).toMatchObject({ got: [], results: [expect.stringContaining('city: Instance does not match')] });
  });

  it('fails when its schema throws', async () => {
    const broken = z.object({
      city: z.string().refine(() => {
        throw new Error('no dictionary');
      }),
    });
    expect(await runTurn(broken, 'Paris')).toEqual({ got: [], results: ['Error: no dictionary'] });
  });
});
