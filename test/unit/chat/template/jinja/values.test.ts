import { describe, expect, it } from 'vitest';
import { rendered } from './rendered.ts';

// Every expected text is what Python's Jinja2 renders.
describe('a value of a template', () => {
  it.each([
    ['{{ values }}', "[True, None, 1.5, 2, \"it's\", [], {'k': ['a']}]"],
    ['{{ values | string }}', "[True, None, 1.5, 2, \"it's\", [], {'k': ['a']}]"],
    [
      '{{ true }} {{ none }} {{ tiny }} {{ 1e16 }} {{ 1e15 }} {{ -0.0 }} {{ 10 / 5 }} {{ 1 / 3 }}',
      'True None 1e-05 1e+16 1000000000000000.0 -0.0 2.0 0.3333333333333333',
    ],
    ["{{ ('a',) }} {{ (1, 2) }} {{ {1: 'x', none: 2.0} }}", "('a',) (1, 2) {1: 'x', None: 2.0}"],
    ["{{ ['both \\' and \"', 'tab\\t', '\\x07', 'é\\u200b'] }}", "['both \\' and \"', 'tab\\t', '\\x07', 'é\\u200b']"],
    ["{{ {'k': [1]}.items() }} {{ range(3) }}", "dict_items([('k', [1])]) range(0, 3)"],
    ['{{ nothing }}{{ [nothing] }}', '[Undefined]'],
    ['{% set n = namespace(a=1) %}{{ n }}', "<Namespace {'a': 1}>"],
  ])('is printed as Python prints it: %j', (template, expected) => {
    expect(rendered(template, { values: [true, null, 1.5, 2, "it's", [], { k: ['a'] }], tiny: 1e-5 })).toBe(expected);
  });

  it.each([
    ['{{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 2 ** -1 }} {{ true + 1 }}', '3 -4 2 0.5 2'],
    ["{{ 'a' + 'b' }} {{ 'ab' * 2 }} {{ [1] + [2] }} {{ 'a' ~ 1 ~ none }}", 'ab abab [1, 2] a1None'],
    ['{{ s | length }} {{ s[2] }} {{ s[::-1] }} {{ s[:2] }} {{ s[9] }}|', '3 😀 😀ña añ |'],
    ['{{ l[-1] }} {{ l[1:] }} {{ l[::-1] }} {{ l[2:0:-1] }} {{ (1, 2, 3)[1:] }}', '2 [1, 2] [2, 1, 3] [2, 1] (2, 3)'],
    ["{{ 1 < 2 < 3 }} {{ 1 == 1.0 == true }} {{ [1] == (1,) }} {{ {'a': 1} == {'a': 1.0} }}", 'True True False True'],
    ["{{ 'ñ' in s }} {{ 1 in l }} {{ 4 not in l }} {{ 'x' in nothing }}", 'True True True False'],
    ["{{ 'B' < 'a' }} {{ [1, 2] < [1, 3] }}", 'True True'],
    ["{{ 0 or 'x' }} {{ 1 and '' }}| {{ not l }}", 'x | False'],
    ["{{ '%s is %d, %.1f%%' % ('a', 3, 2.55) }} {{ '{} {x}'.format(1, x='b') }}", 'a is 3, 2.5% 1 b'],
  ])("has Python's operations: %j", (template, expected) => {
    expect(rendered(template, { s: 'añ😀', l: [3, 1, 2] })).toBe(expected);
  });

  it.each([
    [
      "{{ s.split() }} {{ s.split(' ') }} {{ s.split(none, 1) }} {{ s.rsplit(' ', 1) }}",
      "['One', 'two', 'three'] ['', 'One', 'two', '', 'three', ''] ['One', 'two  three '] [' One two  three', '']",
    ],
    [
      "{{ s.strip() }}|{{ s.lstrip() }}|{{ s.rstrip() }}|{{ 'xyx'.strip('x') }}",
      'One two  three|One two  three | One two  three|y',
    ],
    [
      "{{ s.replace('o', '0', 1) }} {{ s.upper() }} {{ s.title() }} {{ 'aB'.capitalize() }}",
      ' One tw0  three   ONE TWO  THREE   One Two  Three  Ab',
    ],
    [
      "{{ 'abc'.startswith(('x', 'a')) }} {{ 'abc'.endswith('bc') }} {{ 'abc'.find('c') }} {{ 'abc'.count('b') }}",
      'True True 2 1',
    ],
    [
      "{{ 'a-b'.partition('-') }} {{ '-'.join(['a', 'b']) }} {{ lines.splitlines() }}",
      "('a', '-', 'b') a-b ['a', 'b', '']",
    ],
    [
      "{{ d.items() | list }} {{ d['items'] }} {{ d.get('a', 'x') }} {{ d.get('b', 'x') }} {{ d.b is defined }}",
      "[('items', 1), ('a', None)] 1 None x False",
    ],
  ])("has Python's methods: %j", (template, expected) => {
    expect(rendered(template, { s: ' One two  three ', d: { items: 1, a: null }, lines: 'a\nb\n\n' })).toBe(expected);
  });

  it.each([
    ['{{ nothing.a }}', "error: 'nothing' is undefined"],
    ['{{ nothing + 1 }}', "error: 'nothing' is undefined"],
    ["{{ 'a' in 5 }}", "error: argument of type 'int' is not iterable"],
    ['{% for x in none %}{% endfor %}', "error: 'NoneType' object is not iterable"],
    ['{{ 1 / 0 }}', 'error: division by zero'],
  ])('refuses what Python refuses: %j', (template, expected) => {
    expect(rendered(template, { n: 5 })).toBe(expected);
  });
});
