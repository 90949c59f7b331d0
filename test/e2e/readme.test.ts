import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { defaultServerOptions } from '../../src/server/config.ts';
import { checkGraph } from '../../src/index.ts';
import { runCli } from '../cli/command.ts';
import { blocksOf } from '../helpers/docPages.ts';
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

  it('shows the graph as the command draws it', async () => {
    const { out } = await runCli(['draw', 'graphs/lamp-switch.json']);
    expect(blocksOf('README.md').find(({ language }) => language === 'mermaid')?.code).toBe(out);
  });

  it('quotes an error as the server words it', async () => {
    const node = { type: 'Generate', params: { model_name: 'turngraph-demo' } };
    const graph = { start_node: 'answer', nodes: { answer: { ...node, exits: { default: 'anser' } } } };
    const { faults } = await checkGraph(graph, { catalogue: repositoryPath('models.json') });
    expect(faults).toHaveLength(1);
    expect(prose).toContain(`\`${faults[0]?.message}\``);
  });

  it('has the figures of the benchmarks', async () => {
    const rows = (await read('docs/contribute/performance.md')).matchAll(/^\| (.+?) \| (.+?) \| ([\d.]+) +\|/gm);
    const figures = new Map(
      [...rows].map(([, name = '', of = '', figure = '']) => [
        `${name.replace('\\*', '').trim()}: ${of.trim()}`,
        figure,
      ]),
    );
    const sentences: readonly (readonly [row: string, sentence: string])[] = [
      ['slots: first token, 40 agents', 'wait X times as long for the first token'],
      ['next-turn: tokens, without tools', 'to X times its new tokens'],
      ['next-turn: tokens, with tools', 'evaluates X to'],
      ['stream: mid', 'receives X times (a model'],
      ['stream: demo', 'and X times (5M demo model)'],
      ['strict-call: mid, 3 calls', 'takes X of the time of sampling'],
      ['cancel: p99 of 100', 'p99 of 100 cancels: X times the bound'],
    ];
    for (const [row, sentence] of sentences) {
      expect(figures.get(row), row).toBeDefined();
      expect(prose).toContain(sentence.replace('X', figures.get(row) ?? ''));
    }
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
