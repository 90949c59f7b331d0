import { expect, it } from 'vitest';
import { formats } from '../../../../src/chat/formats/index.ts';
import { constrainCalls } from '../../../../src/graph/nodes/toolCall/callConstraint.ts';
import { createTool } from '../../../helpers/toolCalls.ts';

it.each([...formats.values()].map((format) => [format.name, format] as const))(
  'a call in %s has as many tokens as the node allows',
  (_, format) => {
    for (const choice of [{ kind: 'auto' }, { kind: 'required' }] as const) {
      const options = { choice, strict: true, maxTokensPerCall: 77 };
      expect(constrainCalls([createTool({})], options, format).grammar).toMatchObject({ budget: 77 });
    }
  },
);
