import { describe, expect, it } from 'vitest';
import { rendered } from './rendered.ts';

// Every expected text is what Python's Jinja2 renders.
describe('a statement', () => {
  it.each([
    [
      "{% for x in l %}{{ loop.index }}/{{ loop.length }}{{ '.' if loop.last else ',' }}{{ loop.previtem }}{% endfor %}",
      '1/3,2/3,33/3.1',
    ],
    ['{% for x in l if x > 1 %}{{ x }}{{ loop.revindex0 }}{% endfor %}', '3120'],
    ['{% for x in [] %}x{% else %}empty{% endfor %}', 'empty'],
    [
      '{% for x in range(9) %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 5 %}{% break %}{% endif %}{{ x }}{% endfor %}',
      '0134',
    ],
    [
      "{% for k, v in d.items() %}{{ k }}={{ v }}{% endfor %}{% for k in d %}{{ k }}{% endfor %}{% for c in 'añ' %}{{ c }}.{% endfor %}",
      'a=1aa.ñ.',
    ],
    [
      "{% for (a, b), c in [((1, 2), 3)] %}{{ a }}{{ b }}{{ c }}{% endfor %}{% for a, b in (['x', 'y'], 'zw') %}{{ a }}{{ b }}{% endfor %}",
      '123xyzw',
    ],
    [
      '{% for x in [[1, [2]]] recursive %}{% if x is iterable %}({{ loop(x) }}){% else %}{{ x }}@{{ loop.depth }}{% endif %}{% endfor %}',
      '(1@2(2@3))',
    ],
    [
      "{% for x in nothing %}x{% endfor %}|{% for x in l %}{{ loop.cycle('a', 'b') }}{{ loop.changed(x > 1) }}{% endfor %}",
      '|aTruebTrueaTrue',
    ],
  ])('for has loop variables, conditions, else, break and continue: %j', (template, expected) => {
    expect(rendered(template, { l: [3, 1, 2], d: { a: 1 } })).toBe(expected);
  });

  it.each([
    ['{% set x = 0 %}{% for i in l %}{{ x }}{% set x = x + 1 %}{{ x }} {% endfor %}{{ x }}', '01 01 0'],
    ['{% for i in l %}{{ y is defined }}{% set y = 1 %}{% endfor %}{{ y is defined }}', 'FalseFalseFalse'],
    ['{% if true %}{% set x = 1 %}{% endif %}{{ x }}', '1'],
    ['{% set ns = namespace(x=0) %}{% for i in l %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}', '3'],
    ['{% macro f() %}{% set x = 1 %}{% endmacro %}{{ f() }}{{ x is defined }}', 'False'],
    [
      '{% with a = 1 %}{{ a }}{% endwith %}{{ a is defined }}{% generation %}{% set g = 1 %}{% endgeneration %}{{ g is defined }}',
      '1FalseFalse',
    ],
  ])('keeps assignments in a loop, a macro or a block, but not in an if: %j', (template, expected) => {
    expect(rendered(template, { l: [1, 2] })).toBe(expected);
  });

  it.each([
    ['{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set t = 1, 2 %}{{ t }}', '12(1, 2)'],
    ['{% set x %}a{{ 1 }}{% endset %}{{ x }}{% set x | upper %}b{% endset %}{{ x }}', 'a1B'],
    ['{% set x = [1] %}{% set x.y = 2 %}', 'error: cannot assign attribute on non-namespace object'],
    ["{% set x = x | default('d') %}{{ x }}", 'd'],
  ])('set assigns values, tuples and blocks: %j', (template, expected) => {
    expect(rendered(template)).toBe(expected);
  });

  it.each([
    [
      '{% macro f(a, b=2, c=a) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ f(1) }} {{ f(b=5, a=4) }} {{ f() }} {{ f(none) }}',
      '121 454 2 None2None',
    ],
    [
      "{% macro f() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, *[2], x=3, **{'y': 4}) }}",
      "(1, 2){'x': 3, 'y': 4}",
    ],
    ['{% macro f(n) %}{{ n }}{% if n %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}', '3210'],
    ['{% macro f() %}[{{ caller(1) }}]{% endmacro %}{% call(x) f() %}c{{ x }}{% endcall %}', '[c1]'],
    ['{% macro f() %}{{ later }}{% endmacro %}{% set later = 1 %}{{ f() }}', '1'],
  ])('macro takes arguments, defaults and a caller: %j', (template, expected) => {
    expect(rendered(template)).toBe(expected);
  });

  it.each([["{{ raise_exception('only ' ~ 1) }}", 'error: only 1']])(
    'raises an error with the message of the template: %j',
    (template, expected) => {
      expect(rendered(template)).toBe(expected);
    },
  );

  it.each([
    ["{{ 'a' if false }}|{{ 'a' if false else 'b' if true else 'c' }}", '|b'],
    ["{% if 0 %}a{% elif '' %}b{% else %}c{% endif %}{% filter upper | replace('A', 'b') %}a{% endfilter %}", 'cb'],
  ])('chooses and filters: %j', (template, expected) => {
    expect(rendered(template)).toBe(expected);
  });
});

describe('white space', () => {
  it.each([
    ['  {% if n %}\n  x\n  {% endif %}\ny', '  x\ny'],
    ['a {%- if n -%} b {%- endif -%} c', 'abc'],
    ['  {%+ if n %}\nx{% endif +%}\ny', '  x\ny'],
    ['a\n  {# c #}\nb {#- d -#} e {#-#}  f', 'a\nbe  f'],
    ['a\n  {{- n -}}\n  b\n{{ n }}\nc', 'a1b\n1\nc'],
    ['x {% raw -%}  {{ n }} {%- endraw %} y', 'x {{ n }} y'],
    ['{{ n }}\n\n', '1\n'],
    ['a\r\nb{% if n %}\r\nc{% endif %}', 'a\nbc'],
  ])('is removed around tags: %j', (template, expected) => {
    expect(rendered(template, { n: 1 })).toBe(expected);
  });

  it.each([
    ["{{ '  {%- x -%}\\n}}' }}", '  {%- x -%}\n}}'],
    ["{{ {'a': {'b': 1}}.a.b }}", '1'],
    ["{{ 'a\\u00e9\\x41\\n\\d' 'b' }}", 'aéA\n\\db'],
  ])('and tags in a string are text: %j', (template, expected) => {
    expect(rendered(template)).toBe(expected);
  });
});
