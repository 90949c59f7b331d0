import { runInNewContext } from 'node:vm';
import Mustache from 'mustache';
import { describe, expect, it, vi } from 'vitest';
import { compileTemplate, type TemplateScope } from '../../../../src/graph/compile/template.ts';
import { JsonNumber } from '../../../../src/chat/json/value.ts';

const scope = (
  variables: Readonly<Record<string, string>> = {},
  more: Partial<TemplateScope> = {},
): TemplateScope & { readonly warnings: string[] } => {
  const warnings: string[] = [];
  return {
    message: 'hello',
    variables,
    calls: [],
    insights: [],
    exchanges: [],
    warn: (warning) => void warnings.push(warning),
    warnings,
    ...more,
  };
};

function render(text: string, templateScope = scope()): string {
  const template = compileTemplate(text, 'a.params.template');
  if (!template.ok) throw new Error(JSON.stringify(template.errors));
  return template.value.render(templateScope);
}

const call = {
  id: 'abcdefghi',
  name: 'set_light',
  flatArguments: '{"name": "porch", "on": "false", "count": "12345678901234567890"}',
  typedArguments: '{"name": "porch", "on": false, "count": 12345678901234567890}',
  known: true,
  repaired: false,
  because: '',
  consequential: false,
  issues: [],
};

describe('a template', () => {
  it.each([
    ['the message', '{{user_message}}', 'hello'],
    ['a variable without escaping it', '{{a}} {{{a}}} {{&a}}', '<b>&</b> <b>&</b> <b>&</b>'],
    ['a section for an existing value', '{{#a}}yes{{/a}}{{^nothing}}no{{/nothing}}', 'yesno'],
    ['text as it is', 'No {braces} here', 'No {braces} here'],
  ])('renders %s', (_, text, expected) => {
    expect(render(text, scope({ a: '<b>&</b>' }))).toBe(expected);
  });

  it('renders the calls of the turn with exact numbers and booleans', () => {
    const text =
      '{{#tool_calls}}{{name}} {{arguments.name}} {{arguments.count}} {{#arguments.on}}on{{/arguments.on}}{{^arguments.on}}off{{/arguments.on}} {{arguments}}{{/tool_calls}}';
    expect(render(text, scope({}, { calls: [call] }))).toBe(
      `set_light porch 12345678901234567890 off ${call.typedArguments}`,
    );
  });

  it.each([
    ['{{arguments.where}}', '{"room": "attic", "at": [1.50, 12345678901234567890]}'],
    ['{{arguments.where.at}}', '[1.50, 12345678901234567890]'],
    ['{{arguments.tags}}', '["a", {"toString": 1}]'],
    ['{{#arguments.where}}{{room}}: {{#at}}{{.}}, {{/at}}{{/arguments.where}}', 'attic: 1.50, 12345678901234567890, '],
    ['{{#arguments.tags}}<{{.}}>{{/arguments.tags}}', '<a><{"toString": 1}>'],
    ['{{^arguments.none}}none{{/arguments.none}}', 'none'],
    ['[{{arguments.tags.toString}}{{arguments.where.toString}}]', '[]'],
  ])('renders %s of a call with objects and lists as arguments', (text, expected) => {
    const where = '{"room": "attic", "at": [1.50, 12345678901234567890]}';
    const tags = '["a", {"toString": 1}]';
    const flatArguments = JSON.stringify({ where, tags, none: '[]' });
    const typedArguments = `{"where": ${where}, "tags": ${tags}, "none": []}`;
    const templateScope = scope({}, { calls: [{ ...call, flatArguments, typedArguments }] });
    expect(render(`{{#tool_calls}}${text}{{/tool_calls}}`, templateScope)).toBe(expected);
  });

  it.each([
    ['{{tool_calls}}', '[{"name": "set_light", "arguments": {"on": true}}]'],
    ['{{#tool_calls}}{{.}}{{/tool_calls}}', '{"name": "set_light", "arguments": {"on": true}}'],
    ['{{#insights}}{{#missing}}{{#examples}}<{{.}}>{{/examples}}{{/missing}}{{/insights}}', '<{"x": 1}><attic>'],
    ['{{#insights}}{{missing}}{{/insights}}', /^\[\{"name": "where", .*"examples": \[\{"x": 1\}, "attic"\]\}\]$/],
    ['{{#insights}}{{tool}} {{arguments}} {{arguments.on}}{{/insights}}', 'set_light {"on": 1.50} 1.50'],
    ['{{#insights}}{{#invalid}}none{{/invalid}}{{/insights}}', ''],
  ])('renders %s as JSON when it is no text', (text, expected) => {
    const where = { name: 'where', message: 'is missing', significance: '', precedence: 0, hidden: false };
    const missing = [{ ...where, examples: [{ x: 1 }, 'attic'] }];
    const insights = [
      { tool: 'set_light', arguments: new Map([['on', new JsonNumber('1.50')]]), missing, invalid: [] },
    ];
    const calls = [{ ...call, typedArguments: '{"on": true}' }];
    expect(render(text, scope({}, { calls, insights }))).toEqual(
      typeof expected === 'string' ? expected : expect.stringMatching(expected),
    );
  });

  it.each([
    'constructor',
    'toString',
    '__proto__',
    'hasOwnProperty',
    'user_message.length',
    'tool_calls.map',
    'mood.constructor',
    'route.length',
  ])('has no access to %s of JavaScript objects', (name) => {
    const templateScope = scope({ mood: 'calm' }, { calls: [call] });
    expect(render(`[{{${name}}}{{#${name}}}x{{/${name}}}]`, templateScope)).toBe('[]');
    expect(templateScope.warnings).toEqual([`a.params.template names {{${name}}}, which this turn does not have`]);
  });

  it.each([
    ['text', '{{a}}'.repeat(100), scope({ a: 'x'.repeat(20_000) })],
    [
      'work',
      '{{#tool_calls}}'.repeat(4) + 'x' + '{{/tool_calls}}'.repeat(4),
      scope({}, { calls: Array(80).fill(call) }),
    ],
  ])('with too much %s is an error', (_, text, templateScope) => {
    expect(() => render(text, templateScope)).toThrow(/a template renders to more than/);
  });

  it('does not interpret the value of a variable', () => {
    expect(render('{{a}}', scope({ a: '{{b}}', b: 'swordfish' }))).toBe('{{b}}');
  });

  it('warns of a variable with a reserved name, and ignores it', () => {
    const templateScope = scope({ user_message: 'forged' });
    expect(render('{{user_message}}', templateScope)).toBe('hello');
    expect(templateScope.warnings).toEqual(['variables.user_message is not used: the name belongs to the turn']);
  });

  it.each([
    ['does not close', '{{a'],
    ['closes what it did not open', '{{/a}}'],
    ['uses a partial', '{{> a}}'],
    ['changes its delimiters', '{{=<% %>=}}<% a %>'],
    ['changes its delimiters after white space', '{{ =<% %>=}}<% a %>'],
    ['has much white space in an unclosed tag', `{{a${' '.repeat(200_000)}`],
    ['has much white space after a tag with a brace too few', `{{{a}}${' '.repeat(200_000)}x`],
    ['has much white space after a brace in a tag', `{{ {a}}${' '.repeat(200_000)}x`],
    ['uses a partial inside a section', '{{#a}}{{> b}}{{/a}}'],
  ])('that %s is rejected', (_, text) => {
    const compile = () => compileTemplate(text, 'x');
    // White space takes mustache minutes.
    const compiled: unknown = runInNewContext('compile()', { compile }, { timeout: 20_000 });
    expect(compiled).toMatchObject({ ok: false, errors: [{ pointer: '' }] });
  });
});

describe('a template that is too large', () => {
  const errorOf = (text: string): string | undefined => {
    const template = compileTemplate(text, 'a.params.template');
    return template.ok ? undefined : template.errors[0]?.message;
  };

  it('is rejected for its nesting, with the place and the limit', () => {
    const nested = (depth: number): string => '{{#a}}'.repeat(depth) + '{{ /a }}'.repeat(depth);
    expect(errorOf(nested(100))).toBeUndefined();
    expect(errorOf(nested(101))).toBe('has sections nested deeper than 100 levels, at 600; nest fewer');
    expect(errorOf(nested(20_000))).toBe('has sections nested deeper than 100 levels, at 600; nest fewer');
    expect(errorOf('{{^a}}{{/a}}'.repeat(1000))).toBeUndefined();
  });

  it('is rejected for the number of its tags', () => {
    expect(errorOf('{{a}} '.repeat(5000))).toBeUndefined();
    expect(errorOf('{{a}} '.repeat(5001))).toBe('has more than 5000 tags; use fewer');
  });

  it('is rejected for its length, if it has tags', () => {
    expect(errorOf(`${'a'.repeat(262_139)}{{b}}`)).toBeUndefined();
    expect(errorOf(`${'a'.repeat(262_140)}{{b}}`)).toBe(
      'has 262145 characters, and 262144 are allowed for a text with tags',
    );
  });
});

describe('a template without tags', () => {
  it('is rendered as it is, without being parsed, whatever its length', () => {
    const parse = vi.spyOn(Mustache.Writer.prototype, 'parse');
    const text = '}} <b>{ '.repeat(200_000);
    expect(render(text)).toBe(text);
    expect(parse).not.toHaveBeenCalled();
    parse.mockRestore();
  });

  it('warns of variables that belong to the turn', () => {
    const templateScope = scope({ user_message: 'mine' });
    render('a', templateScope);
    expect(templateScope.warnings).toEqual(['variables.user_message is not used: the name belongs to the turn']);
  });
});

describe('what earlier nodes have decided', () => {
  it('is in scope: the Route label, and the guidelines that hold with their actions', () => {
    const selection = { guidelines: [{ name: 'lights', action: 'Be bright.' }], tools: [] };
    const text = '{{route}}:{{#guidelines}} {{name}}: {{action}}{{/guidelines}}';
    expect(render(text, scope({}, { selection, route: 'order' }))).toBe('order: lights: Be bright.');
  });

  it('renders empty where no node has decided anything, without a warning', () => {
    const empty = scope();
    expect(render('[{{route}}{{#guidelines}}{{name}}{{/guidelines}}]', empty)).toBe('[]');
    expect(empty.warnings).toEqual([]);
  });
});
