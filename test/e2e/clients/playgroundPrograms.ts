import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { clientLanguages } from '../../../playground/src/app/clientCode.ts';
import { parseGraph, toolsOf } from '../../../playground/src/document/graphDocument.ts';
import { heldEngine } from '../../helpers/heldEngine.ts';
import { chatmlCall } from '../../helpers/resultGraphs.ts';
import { startTestServer, type TestServerOptions } from '../../helpers/server.ts';

/** A program that the playground has written. */
export interface WrittenProgram {
  readonly code: string;
  /** A folder of its own, which has the file of the graph. */
  readonly folder: string;
  readonly graphFile: string;
  readonly token: string;
}

/** What a program has shown at its end: the answer, with the result of each call. */
export const programEnd = /Done\./;

const weather = {
  name: 'get_weather',
  description: 'Get the weather in a city.',
  parameters: [{ name: 'city', type: 'string' }],
};
const message = `Ring, "please", it's \\late</script>`;
const calls = {
  get_weather: chatmlCall('get_weather', { city: 'Paris' }),
  ring_bell: chatmlCall('ring_bell', {}),
  // No name of a function in any of the languages.
  'ring.bell': chatmlCall('ring.bell', {}),
};

/** Graphs that wait for results, and how the program gets them. */
const cases = [
  { tools: ['ring_bell'], names: ['ring_bell'], isOnServer: true },
  { tools: [weather, 'ring.bell'], names: ['get_weather', 'ring.bell'], isOnServer: false },
] as const;

/**
 * Lets the playground write the programs of a language: for a graph that only names its tools, and for one that declares some,
 * too. Each must run its calls and give back the results. @param run resolves with what the program shows.
 */
export async function expectPrograms(
  language: string,
  run: (program: WrittenProgram) => Promise<string>,
  options: TestServerOptions = {},
): Promise<void> {
  for (const each of cases) {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-program-'));
    try {
      expectRun(await runCase(language, each, { folder, run, options }), each.names);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}

interface CaseRun {
  readonly folder: string;
  readonly run: (program: WrittenProgram) => Promise<string>;
  readonly options: TestServerOptions;
}

async function runCase(
  language: string,
  { tools, names, isOnServer }: (typeof cases)[number],
  { folder, run, options }: CaseRun,
): Promise<string> {
  const line = '{{#tool_results}}{{name}}: {{content}}. {{/tool_results}}Done.\n';
  const graph = JSON.stringify({
    ...(isOnServer && { default_model_name: 'turngraph-demo' }),
    start_node: 'act',
    nodes: {
      act: { type: 'ToolCall', params: { tools, await_results: true }, exits: { tool_called: 'tell' } },
      tell: { type: 'CannedResponse', params: { inline_strings: [line] } },
    },
  });
  const graphFile = join(folder, 'house.json');
  await writeFile(graphFile, graph);
  const answer = names.map((name) => calls[name]).join('\n');
  const engine = heldEngine([{ match: String.raw`^Ring, "please", it's \\late</script>$`, answer }]);
  const token = 'open sesame';
  await using server = await startTestServer({ ...options, graphs: folder, token, engines: { 'llama-cpp': engine } });
  const code = clientLanguages
    .find(({ id }) => id === language)
    ?.write({
      url: server.url,
      graphName: 'house',
      isOnServer,
      defaultModelName: isOnServer ? '' : 'turngraph-demo',
      needsToken: true,
      message,
      tools: toolsOf(parseGraph(graph).graph),
    });
  return await run({ code: code ?? '', folder, graphFile, token });
}

function expectRun(output: string, names: readonly string[]): void {
  for (const name of names) expect(output).toContain(`${name}: ok. `);
  expect(output).toMatch(names.includes('get_weather') ? /^get_weather .*Paris/m : /^ring_bell\b/m);
  if (names.includes('ring.bell')) expect(output).toMatch(/^ring\.bell\b/m);
  expect(output).toMatch(programEnd);
}
