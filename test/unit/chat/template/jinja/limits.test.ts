import { describe, expect, it } from 'vitest';
import { rendered } from './rendered.ts';
import { scaled } from '../../../../helpers/depth.ts';

const loop = (body: string, count: number): string => `{% for i in range(${count}) %}${body}{% endfor %}`;
const nested = (open: string, close: string): string => `{{ ${open.repeat(50_000)}1${close.repeat(50_000)} }}`;

describe('a hostile template', () => {
  it.each([
    ['loops in loops', loop(loop(loop('{% set x = 1 %}', 999), 999), 999), 'too many steps'],
    ['calls a macro twice in itself', twice('f(n - 1) }}{{ f(n - 1)'), 'too many steps'],
    ['calls a macro in itself for ever', '{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}', 'nests more than'],
    ['doubles a text', doubling("'ab'", 'ns.x ~ ns.x'), 'a text of more than'],
    ['doubles a list', doubling('[1]', 'ns.x + ns.x'), 'a list of more than'],
    ['shares lists in lists', `${doubling('[1]', '[ns.x, ns.x]')}{{ ns.x }}`, 'too many steps'],
    ['shares lists in lists, as JSON', `${doubling('[1]', '[ns.x, ns.x]')}{{ ns.x | tojson }}`, 'too many steps'],
    ['repeats a text', "{{ 'x' * 10 ** 12 }}", 'a text of more than'],
    ['repeats a list', '{{ [1] * 10 ** 12 }}', 'a list of more than'],
    ['indents by much', "{{ 'x' | indent(10 ** 9, true) }}", 'a text of more than'],
    ['formats with a large width', "{{ '%9999999d' % 1 }}", 'the width of a directive is too large'],
    ['counts far', '{{ range(10 ** 9) }}', 'range() makes at most'],
    ['searches a long list often', loop('{{ -1 in range(99999) }}', 9999), 'too many steps'],
    [
      'changes a long text often',
      `{% set x = 'a' * 10 ** 6 %}${loop('{% set y = x | upper %}', 9999)}`,
      'too many steps',
    ],
    ['contains itself', '{% set a = [] %}{% set _ = a.append(a) %}{{ a }}', 'nests more than'],
    ['compares what contains itself', containing('a == b'), 'nests more than'],
    ['nests parentheses', nested('(', ')'), 'nested more than'],
    ['negates without end', nested('not ', ''), 'nested more than'],
    ['nests conditions', nested('1 if 0 else ', ''), 'nested more than'],
    ['nests blocks', '{% if 1 %}'.repeat(50_000), 'nested more than'],
    ['adds without end', nested('1 + ', ''), 'nests too deeply'],
    ['is very long', 'x'.repeat(2 ** 20 + 1), 'more than 1048576 characters'],
  ])('that %s fails', (_, template, why) => {
    const result = rendered(template);
    expect(result).toMatch(/^error: /);
    expect(result).toContain(why);
  });

  it.each([
    ['white space', ' '.repeat(scaled(400_000))],
    ['opening braces', '{'.repeat(scaled(400_000))],
    ['backslashes in a string', `{{ '${'\\\\'.repeat(scaled(200_000))}' }}`],
    ['blank tags', `{%${' '.repeat(1000)}`.repeat(scaled(400))],
    ['blank tags in raw text', `{% raw %}${`{%${' '.repeat(1000)}`.repeat(scaled(400))}`],
  ])('of very many characters of %s is read in linear time', (_, template) => {
    expect(rendered(template)).toBeTypeOf('string');
  });
});

describe('a long prompt', () => {
  it('is rendered, however many messages it has', () => {
    const messages = Array.from({ length: 1000 }, () => ({ role: 'user', content: 'word '.repeat(100) }));
    const template =
      "{% set ns = namespace(text='') %}{% for m in messages %}{% set ns.text = ns.text ~ m.content | trim ~ m.role %}" +
      '{% endfor %}{{ ns.text }}';
    expect(rendered(template, { messages })).toHaveLength(1000 * (499 + 4));
  });
});

function twice(calls: string): string {
  return `{% macro f(n) %}{% if n %}{{ ${calls} }}{% endif %}{% endmacro %}{{ f(60) }}`;
}

function doubling(start: string, next: string): string {
  return `{% set ns = namespace(x=${start}) %}${loop(`{% set ns.x = ${next} %}`, 60)}`;
}

function containing(comparison: string): string {
  const both = '{% set a = [] %}{% set _ = a.append(a) %}{% set b = [] %}{% set _ = b.append(b) %}';
  return `${both}{{ ${comparison} }}`;
}
