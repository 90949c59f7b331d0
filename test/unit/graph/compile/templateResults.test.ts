import { describe, expect, it, vi } from 'vitest';
import { compileTemplate, type TemplateScope } from '../../../../src/graph/compile/template.ts';
import type { AnsweredCall } from '../../../../src/chat/tool.ts';
import { parseJsonText } from '../../../../src/chat/json/lenientParser.ts';

vi.mock(import('../../../../src/chat/json/lenientParser.ts'), { spy: true });

const answered = (content: string, id = 'abcdefghi'): AnsweredCall => ({
  id,
  name: 'look',
  arguments: new Map([['at', 'the "sea"']]),
  ok: true,
  content,
  lifespan: 'TURN',
});

function scopeOf(contents: readonly string[]): TemplateScope & { readonly warnings: string[] } {
  const warnings: string[] = [];
  const calls = contents.map((content, index) => answered(content, `call ${index}`));
  return {
    message: 'hello',
    variables: {},
    calls: [],
    insights: [],
    exchanges: [{ calls, messages: [] }],
    warn: (warning) => void warnings.push(warning),
    warnings,
  };
}

function render(text: string, scope: TemplateScope): string {
  const template = compileTemplate(text, 'a.params.template');
  if (!template.ok) throw new Error(JSON.stringify(template.errors));
  return template.value.render(scope);
}

const parses = () => vi.mocked(parseJsonText).mock.calls.length;

describe('results in a template', () => {
  it.each([
    ['{"a": {"b": [1.50, "x"]}}', '{{content.a.b}}', '[1.50, "x"]'],
    ['{"a": 12345678901234567890}', '{{content.a}}', '12345678901234567890'],
    ['{"a": 0}', '{{#content.a}}{{.}}{{/content.a}}', '0'],
    ['{"a": false}', '{{^content.a}}no{{/content.a}}', 'no'],
    ['{"a": []}', '{{^content.a}}none{{/content.a}}', 'none'],
    ['[{"n": 1}, {"n": 2.0}]', '{{#content}}{{n}} {{/content}}', '1 2.0 '],
    ['[1, 2]', '{{#content}}<{{.}}>{{/content}}', '<1><2>'],
    ['[1, 2]', '{{content.length}}', '2'],
    ['{"toString": "own", "__proto__": {"x": 5}}', '{{content.toString}} {{content.__proto__.x}}', 'own 5'],
    ['{"digits": 7}', '{{content.digits}}{{content.digits.digits}}', '7'],
    ['{"a": 1}', '[{{content.size}}{{content.get}}{{content.constructor}}]', '[]'],
    ['[1]', '[{{content.map}}{{content.constructor}}]', '[]'],
    ['18 degrees', '{{content}} {{arguments.at}}', '18 degrees the "sea"'],
    ['{"a": 1} or so', '{{content}}', '{"a": 1} or so'],
    ['['.repeat(100), '{{content}}', '['.repeat(100)],
  ])('%s as %s', (content, text, expected) => {
    expect(render(`{{#tool_results}}${text}{{/tool_results}}`, scopeOf([content]))).toBe(expected);
  });

  it('are parsed only where the template reads them, and once in a turn', () => {
    const scope = scopeOf(['{"a": 1}']);
    const before = parses();
    expect(render('{{user_message}} {{#tool_results}}{{name}}{{/tool_results}}', scope)).toBe('hello look');
    expect(parses()).toBe(before);
    for (let turn = 0; turn < 3; turn++)
      expect(render('{{#tool_results}}{{content.a}}{{content}}{{/tool_results}}', scope)).toBe('1{"a": 1}');
    expect(parses()).toBe(before + 1);
  });

  it('are text where there is more JSON than one rendering may parse, with a warning', () => {
    const list = `[${'[],'.repeat(80_000)}{}]`;
    const scope = scopeOf([list, list, list, '18 degrees']);
    const before = parses();
    expect(render('{{#tool_results}}{{^content.0}}.{{/content.0}}{{/tool_results}}', scope)).toBe('....');
    expect(parses()).toBe(before + 2);
    expect(scope.warnings).toEqual([expect.stringMatching(/content of a result of look as text.*524288 characters/)]);
  });
});
