import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, it, vi } from 'vitest';
import { clientLanguages } from '../../playground/src/app/clientCode.ts';
import { connect } from '../../src/client/index.ts';
import { useServer } from '../helpers/server.ts';

const graph = {
  start_node: 'reply',
  nodes: { reply: { type: 'CannedResponse', params: { inline_strings: ['Good evening.'] } } },
};
const graphs = mkdtempSync(join(tmpdir(), 'turngraph-'));
writeFileSync(join(graphs, 'tavern.json'), JSON.stringify(graph));
const server = useServer({ graphs, token: 'sesame' });

afterAll(() => rmSync(graphs, { recursive: true }));
afterEach(() => vi.unstubAllEnvs());

/** The program without its imports: `run` passes what they name. */
const bodyOf = (program: string): string => program.replaceAll(/^import .*\n/gm, '');

const AsyncFunction = (async () => {}).constructor as new (
  ...source: readonly string[]
) => (...values: readonly unknown[]) => Promise<void>;

it.each([{ isOnServer: true }, { isOnServer: false }])(
  'the JavaScript that the playground writes has a conversation with the graph: %o',
  async ({ isOnServer }) => {
    vi.stubEnv('TURNGRAPH_TOKEN', 'sesame');
    const javascript = clientLanguages.find(({ id }) => id === 'javascript');
    const program = javascript?.write({
      url: `ws://127.0.0.1:${server().port}`,
      graphName: 'tavern',
      isOnServer,
      defaultModelName: '',
      needsToken: true,
      message: 'Hello!',
    });
    let written = '';
    const logged: unknown[] = [];
    const readFile = (path: string): Promise<string> =>
      Promise.resolve(path === 'tavern.json' ? JSON.stringify(graph) : '');
    const run = new AsyncFunction('connect', 'readFile', 'process', 'console', bodyOf(program ?? ''));
    await run(
      connect,
      readFile,
      { env: process.env, stdout: { write: (text: string) => (written += text) } },
      { log: (...values: readonly unknown[]) => logged.push(...values) },
    );
    expect(written).toBe('Good evening.');
    expect(logged).toEqual([[{ nodeName: 'reply', exit: 'default' }]]);
  },
);
