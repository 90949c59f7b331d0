import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { defaultServerOptions } from '../../src/server/config.ts';
import { checkGraph } from '../../src/index.ts';
import { repositoryPath } from '../helpers/server.ts';

const read = (file: string) => readFile(repositoryPath(file), 'utf8');
const readme = await read('README.md');
// A sentence can go on in the next line.
const prose = readme.replaceAll(/\s+/g, ' ');

describe('README.md', () => {
  it('counts the error codes', async () => {
    const [codes = ''] = /^  enum Code \{.*?^  \}/ms.exec(await read('proto/turngraph/v1/wire.proto')) ?? [];
    expect(prose).toContain(`${codes.match(/ = [1-9]\d*;/g)?.length} [documented codes]`);
  });

  it('counts the models of the catalogue', async () => {
    const { models } = JSON.parse(await read('models.json')) as {
      models: readonly { name: string; purpose?: string }[];
    };
    const [embedding, chat] = [true, false].map((isEmbedding) =>
      models.filter(({ name, purpose }) => name !== 'turngraph-demo' && (purpose === 'embedding') === isEmbedding),
    );
    expect(chat).toHaveLength(35);
    expect(embedding).toHaveLength(5);
    expect(prose).toContain('lists thirty-five well-known models');
    expect(prose).toContain('and five for embeddings');
  });

  it('names the default limits', () => {
    const { maxAgents, maxConnections, port } = defaultServerOptions();
    expect(prose).toContain(`${maxConnections} connections and ${maxAgents} agents per session`);
    expect(prose).toContain(`(port ${port}, loopback only)`);
  });

  it('quotes an error as the server words it', async () => {
    const node = { type: 'Generate', params: { model_name: 'turngraph-demo' } };
    const graph = { start_node: 'answer', nodes: { answer: { ...node, exits: { default: 'anser' } } } };
    const { faults } = await checkGraph(graph, { catalogue: repositoryPath('models.json') });
    expect(faults).toHaveLength(1);
    expect(prose).toContain(`\`${faults[0]?.message}\``);
  });

  it('says the same of the time of the tests as npm test', async () => {
    const info = await read('scripts/test-info.mjs');
    const [, seconds = ''] = /fastSecondsOnTwoCores = (\d+)/.exec(info) ?? [];
    const [, minutes = ''] = /minutesOnTwoCores = (\d+)/.exec(info) ?? [];
    const contributing = (await read('CONTRIBUTING.md')).replaceAll(/\s+/g, ' ');
    for (const text of [prose, contributing]) {
      expect(text).toContain(`about ${seconds} seconds on two cores`);
      expect(text).toContain(`about ${minutes} minutes`);
    }
  });
});
