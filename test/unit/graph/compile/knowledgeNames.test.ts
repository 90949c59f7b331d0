import { describe, expect, it } from 'vitest';
import { checkGraph } from '../../../../src/server/checkGraph.ts';
import { withBlock, type KnowledgeBlock } from '../../../../src/graph/compile/turn.ts';
import { defineNode } from '../../../../src/graph/compile/node.ts';
import type { Hit } from '../../../../src/graph/retrieval/retriever.ts';
import { compileTemplate, type TemplateScope } from '../../../../src/graph/compile/template.ts';
import { readCatalogue } from '../../../../src/inference/models/catalogue/catalogue.ts';
import { registryWith } from '../../../../src/graph/nodes/index.ts';
import { repositoryPath } from '../../../helpers/server.ts';

const smith: Hit = {
  id: 'smith',
  text: 'Harl is the smith.',
  score: 4.5,
  metadata: { level: 2, tags: ['a'] },
};
const inn: Hit = { id: 'inn', text: 'The inn sells eel.', score: 2, metadata: {} };
const lore: KnowledgeBlock = { name: 'lore', chunks: [smith, inn] };
const rumours: KnowledgeBlock = { name: 'rumours', chunks: [] };

function render(text: string, knowledge: readonly KnowledgeBlock[], variables: Readonly<Record<string, string>> = {}) {
  const warnings: string[] = [];
  const warn = (warning: string): void => void warnings.push(warning);
  const scope: TemplateScope = { message: 'hi', variables, calls: [], insights: [], exchanges: [], knowledge, warn };
  const template = compileTemplate(text, 'a.params.template');
  if (!template.ok) throw new Error(JSON.stringify(template.errors));
  return { text: template.value.render(scope), warnings };
}

describe('the knowledge of a turn in a template', () => {
  it.each([
    [
      'the chunks of one source',
      '{{#knowledge_lore}}- {{text}}\n{{/knowledge_lore}}',
      '- Harl is the smith.\n- The inn sells eel.\n',
    ],
    ['all blocks', '{{#knowledge}}{{name}}:{{#chunks}} {{id}}{{/chunks}};{{/knowledge}}', 'lore: smith inn;rumours:;'],
    [
      'scores and metadata',
      '{{#knowledge_lore}}{{score}} {{metadata.level}} {{metadata.tags}};{{/knowledge_lore}}',
      '4.5 2 ["a"];2  ;',
    ],
    [
      'nothing for an empty block',
      '[{{#knowledge_rumours}}x{{/knowledge_rumours}}{{^knowledge_rumours}}none{{/knowledge_rumours}}]',
      '[none]',
    ],
  ])('is %s', (_, text, expected) => {
    expect(render(text, [lore, rumours]).text).toBe(expected);
  });

  it('is none before a node has found any', () => {
    expect(render('[{{#knowledge}}x{{/knowledge}}{{#knowledge_lore}}x{{/knowledge_lore}}]', [])).toEqual({
      text: '[]',
      warnings: [],
    });
  });

  it('takes precedence over variables of its names, with a warning; other variables stay', () => {
    const variables = { knowledge: 'mine', knowledge_lore: 'mine', knowledge_level: '3' };
    const text = '{{#knowledge_lore}}{{id}} {{/knowledge_lore}}{{knowledge_level}}';
    expect(render(text, [lore], variables)).toEqual({
      text: 'smith inn 3',
      warnings: ['knowledge', 'knowledge_lore'].map(
        (name) => `variables.${name} is not used: the name belongs to the turn`,
      ),
    });
  });
});

describe('blocks of knowledge', () => {
  it('add up: another name is another block', () => {
    expect(withBlock([lore], rumours)).toEqual([lore, rumours]);
  });

  it('of one name become one, in which an entry is once', () => {
    const other = { ...inn, text: 'Another entry with the same id.' };
    const added = { name: 'lore', chunks: [{ ...smith, score: 9 }, other] };
    expect(withBlock([rumours, lore], added)).toEqual([rumours, { name: 'lore', chunks: [smith, inn, other] }]);
  });
});

const finder = defineNode({
  type: 'Finder',
  summary: 'Finds nothing.',
  params: { type: 'object', additionalProperties: false, properties: { source: { type: 'string' } } },
  exits: ['default'],
  knowledgeSource: ({ source }, nodeName) => source ?? nodeName,
  create: () => Promise.resolve({ run: () => Promise.resolve('default' as const) }),
});

async function warningsOf(template: string, nodes: object): Promise<readonly string[]> {
  const { faults, warnings } = await checkGraph(
    {
      start_node: 'say',
      default_model_name: 'turngraph-demo',
      nodes: {
        say: { type: 'CannedResponse', params: { inline_strings: [template] }, exits: { default: 'lore' } },
        ...nodes,
      },
    },
    {
      registry: registryWith({ nodeTypes: [finder] }),
      catalogue: await readCatalogue(repositoryPath('models.json')),
      storageRoot: repositoryPath('graphs'),
    },
  );
  expect(faults).toEqual([]);
  return warnings;
}

const named = {
  lore: { type: 'Finder', exits: { default: 'other' } },
  other: { type: 'Finder', params: { source: 'rumours' } },
};
const generate = (params: object): object => ({ lore: { type: 'Generate', params } });

describe('a template that names knowledge', () => {
  it.each([
    [
      'names what a node finds',
      '{{#knowledge_lore}}{{text}}{{/knowledge_lore}}{{#knowledge_rumours}}x{{/knowledge_rumours}}{{#knowledge}}y{{/knowledge}}',
      [],
    ],
    [
      'has a misspelling',
      '{{#knowledge_lroe}}{{text}}{{/knowledge_lroe}}',
      [
        'say, line 0 names {{knowledge_lroe}}, and no node of the graph finds knowledge for "lroe"; did you mean "lore"?',
      ],
    ],
    [
      'names the node, not its source',
      '{{knowledge_other.0.text}}',
      ['say, line 0 names {{knowledge_other}}, and no node of the graph finds knowledge for "other"'],
    ],
  ])('%s', async (_, template, expected) => {
    expect(await warningsOf(template, named)).toEqual(expected);
  });

  it('cannot name a source with a dot, which is a warning', async () => {
    const nodes = { lore: { type: 'Finder', params: { source: 'my.lore' } } };
    expect(await warningsOf('Hi.', nodes)).toEqual([
      'lore finds knowledge for "my.lore", and no template can name {{knowledge_my.lore}}: use letters, digits, _ and - only',
    ]);
  });

  it.each([
    ['system_prompt', generate({ system_prompt: '{{#knowledge}}x{{/knowledge}}' })],
    ['template', generate({ template: '{{#knowledge}}x{{/knowledge}}' })],
    [
      'system_prompt',
      {
        lore: {
          type: 'ToolCall',
          params: { tools: [{ name: 'go', description: 'Goes.' }], system_prompt: '{{knowledge}}' },
        },
      },
    ],
  ])('in %s of a graph without such a node is a warning', async (param, nodes) => {
    expect(await warningsOf('Hi.', nodes)).toContain(
      `lore.params.${param} names {{knowledge}}, and no node of the graph finds any knowledge`,
    );
  });
});
