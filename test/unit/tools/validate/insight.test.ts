import { describe, expect, it } from 'vitest';
import { coerceArguments } from '../../../../src/tools/validate/coerceArguments.ts';
import { collectMentions } from '../../../../src/tools/validate/grounding.ts';
import { createInsight, visibleInsight } from '../../../../src/tools/validate/insight.ts';
import { validateCall } from '../../../../src/tools/validate/callIssues.ts';
import type { Tool } from '../../../../src/tools/tool.ts';
import { createTool, parseArguments } from '../../../helpers/toolCalls.ts';

describe('an insight', () => {
  const transfer = (consequential: boolean): Tool =>
    createTool({
      consequential,
      parameters: [
        { name: 'amount', type: 'number', source: 'customer', significance: 'how much to send', precedence: 2 },
        {
          name: 'recipient',
          type: 'string',
          source: 'customer',
          significance: 'who gets it',
          examples: ['Ada'],
          precedence: 1,
        },
        { name: 'account', type: 'string', hidden: true },
        { name: 'note', type: 'string', source: 'customer', required: false },
      ],
    });
  const insight = (tool: Tool, args: object, messages: string) =>
    createInsight(
      tool,
      validateCall('f', coerceArguments(parseArguments(args), tool), tool, collectMentions([messages])),
    );

  it('replaces a call with an ungrounded required value', () => {
    const result = insight(
      transfer(false),
      { amount: 500, recipient: 'Bob', account: 'main' },
      'transfer 500 to my friend',
    );
    expect(result).toMatchObject({
      tool: 'f',
      missing: [],
      invalid: [{ name: 'recipient', significance: 'who gets it', examples: ['Ada'] }],
    });
  });

  it('replaces a call with a missing parameter', () => {
    expect(insight(transfer(false), { amount: 500, account: 'main' }, '500')).toMatchObject({
      missing: [{ name: 'recipient' }],
      invalid: [],
    });
  });

  it('is created for any issue of a consequential tool only', () => {
    const args = { amount: 500, recipient: 'Ada', account: 'main', note: 'rent' };
    expect(insight(transfer(true), args, '500 to Ada')).toMatchObject({ invalid: [{ name: 'note' }] });
    expect(insight(transfer(false), args, '500 to Ada')).toBeUndefined();
  });

  it('is not created for a valid call', () => {
    expect(insight(transfer(true), { amount: 500, recipient: 'Ada', account: 'main' }, '500 to Ada')).toBeUndefined();
  });

  it('shows templates only the visible parameters of the first precedence', () => {
    const result = insight(transfer(true), {}, 'transfer something');
    expect(result?.missing.map(({ name }) => name)).toEqual(['amount', 'recipient', 'account']);
    expect(result && visibleInsight(result).missing.map(({ name }) => name)).toEqual(['recipient']);
  });
});
