import { describe, expect, it } from 'vitest';
import { createArgumentRules } from '../../../../src/chat/formats/callGrammar.ts';
import { formats } from '../../../../src/chat/formats/index.ts';
import { fits } from '../../../../src/chat/grammar/matcher.ts';
import { readTool } from '../../../../src/chat/tools/declaration/readTool.ts';
import type { Tool } from '../../../../src/chat/tool.ts';
import { ruleFor } from '../../../helpers/grammarRules.ts';

describe('the grammar of calls', () => {
  const tool = (name: string, parameters: object): Tool => {
    const reading = readTool({ name, description: '', consequential: false, parameters: parameters as never });
    if (!reading.ok) throw new Error(JSON.stringify(reading.errors));
    return reading.value;
  };
  const on = { name: 'on', type: 'boolean' };
  const tools = [tool('light', [on]), tool('wait', [])];

  it.each([
    ['chatml', '<tool_call>\n{"name": "light", "arguments": {"on": true}}\n</tool_call>'],
    ['llama3', '{"name": "light", "parameters": {"on": true}}'],
    ['mistral', '[TOOL_CALLS] [{"name": "light", "arguments": {"on": true}}]'],
    ['generic', '{"tool": "light", "args": {"on": true}}'],
    ['react', 'Action: light\nAction Input: {"on": true}'],
  ])('accepts the format %s', (name, text) => {
    const grammar = formats.get(name)?.grammar?.(tools, { kind: 'required' });
    const rule = grammar?.kind === 'full' ? grammar.rule : ruleFor({ const: '' });
    expect(fits(text, rule)).toBe(true);
    expect(fits(text.replace('light', 'wait'), rule)).toBe(false);
    expect(fits(text.replace('{"on": true}', '{}').replace('light', 'wait'), rule)).toBe(true);
  });

  it('rejects tools with name, keyword and location', () => {
    const bad = tool('code', { type: 'object', properties: { zip: { type: 'string', pattern: '^\\d+$' } } });
    expect(() => formats.get('chatml')?.grammar?.([...tools, bad], { kind: 'auto' })).toThrow(
      'the tool "code": /properties/zip/pattern is "pattern", which a grammar cannot express',
    );
    expect(() => formats.get('chatml')?.grammar?.([...tools, bad], { kind: 'tool', name: 'light' })).not.toThrow();
  });

  it('rejects tools that together make too large a grammar, with the first that is too much', () => {
    const values = Array.from({ length: 900 }, (_, index) => `value ${1000 + index}`);
    const large = ['a', 'b', 'c', 'd', 'e'].map((name) => tool(name, [{ name: 'x', type: 'string', enum: values }]));
    expect(() => formats.get('chatml')?.grammar?.(large.slice(0, 3), { kind: 'auto' })).not.toThrow();
    expect(() => formats.get('chatml')?.grammar?.(large, { kind: 'auto' })).toThrow(
      'the tool "d": together with the tools before it makes the grammar larger than 65536 characters',
    );
    expect(() => formats.get('chatml')?.grammar?.(large, { kind: 'tool', name: 'e' })).not.toThrow();
  });

  it('rejects each tool that the grammar has no room for, and none after it that fits', () => {
    const values = Array.from({ length: 900 }, (_, index) => `value ${1000 + index}`);
    const large = ['a', 'b', 'c', 'd', 'e'].map((name) => tool(name, [{ name: 'x', type: 'string', enum: values }]));
    const isOf = (name: string): unknown => expect.objectContaining({ tool: name });
    expect(() => createArgumentRules([...large, ...tools])).toThrow(
      expect.objectContaining({ errors: [isOf('d'), isOf('e')] }),
    );
  });

  it('has room for many tools', () => {
    const params = Array.from({ length: 12 }, (_, index) => ({ name: `parameter${index}`, type: 'string' }));
    const many = Array.from({ length: 128 }, (_, index) => tool(`tool${index}`, params));
    expect(formats.get('chatml')?.grammar?.(many, { kind: 'auto' })).toMatchObject({ kind: 'lazy' });
  });
});
