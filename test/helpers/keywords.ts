import { defineNode } from '../../src/graph/compile/node.ts';

/** A node type that selects tools by words of the message, or of the last result of the turn if there is one. */
export const keywords = defineNode({
  type: 'Keywords',
  summary: 'Selects tools by words.',
  params: {
    type: 'object',
    additionalProperties: false,
    required: ['words'],
    properties: {
      words: {
        type: 'array',
        items: {
          type: 'object',
          additionalProperties: false,
          required: ['word', 'tools'],
          properties: { word: { type: 'string' }, tools: { type: 'array', items: { type: 'string' } } },
        },
      },
    },
  },
  exits: ['default'],
  effects: () => ({ silentExits: ['default'], selects: true }),
  create: ({ words }) =>
    Promise.resolve({
      run(turn) {
        const text = turn.exchanges.at(-1)?.calls.at(-1)?.content ?? turn.message;
        const matched = words.filter(({ word }) => String(text).includes(word));
        turn.select({
          guidelines: matched.map(({ word }) => ({ name: word, action: '' })),
          tools: matched.flatMap(({ word, tools }) => tools.map((name) => ({ name, because: word }))),
        });
        return Promise.resolve('default' as const);
      },
    }),
});
