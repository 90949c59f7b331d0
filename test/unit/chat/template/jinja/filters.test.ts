import { describe, expect, it } from 'vitest';
import { rendered } from './rendered.ts';

// Every expected text is what Python's Jinja2 renders.
describe('a filter', () => {
  it.each([
    ["{{ ' a ' | trim }}|{{ 'xax' | trim('x') }}|{{ none | trim }}", 'a|a|None'],
    ["{{ 'it is' | title }} {{ 'AB c' | capitalize }} {{ 'ab' | upper }} {{ true | lower }}", 'It Is Ab c AB true'],
    ['{{ lines | indent(2) }}', 'one\n  two\n\n  three\n'],
    ['{{ lines | indent(2, true, true) }}', '  one\n  two\n  \n  three\n  '],
    ["{{ ['a', 1, none] | join(', ') }} {{ 'a b' | replace(' ', '_') }} {{ '<' | e }}", 'a, 1, None a_b &lt;'],
    ["{{ 'a long text' | truncate(6, true, '!', 0) }} {{ 'x' | center(5) }}|", 'a lon!   x  |'],
  ])('of texts: %j', (template, expected) => {
    expect(rendered(template, { lines: 'one\ntwo\n\nthree\n' })).toBe(expected);
  });

  it.each([
    ['{{ v | tojson }}', '{"b": ["ü\\"\\n</", 1.5, true, null], "a": {}}'],
    ['{{ v | tojson(indent=2) }}', '{\n  "b": [\n    "ü\\"\\n</",\n    1.5,\n    true,\n    null\n  ],\n  "a": {}\n}'],
    ['{{ v | tojson(indent=0) }}', '{\n"b": [\n"ü\\"\\n</",\n1.5,\ntrue,\nnull\n],\n"a": {}\n}'],
    ['{{ v | tojson(ensure_ascii=True, sort_keys=True) }}', '{"a": {}, "b": ["\\u00fc\\"\\n</", 1.5, true, null]}'],
    ["{{ v | tojson(separators=(',', ':')) }}", '{"b":["ü\\"\\n</",1.5,true,null],"a":{}}'],
    ['{{ {1: 1.0, none: 1e-5, true: (1, 2)} | tojson }}', '{"1": [1, 2], "null": 1e-05}'],
    ["{{ [{'n': 1}, {'n': 2}] | map(attribute='n') | tojson }}", '[1, 2]'],
    ['{{ nothing | tojson }}', 'error: Object of type Undefined is not JSON serializable'],
    ['{{ [{"a": 1}, {"a": 2}] | map(attribute="a") | tojson }}', '[1, 2]'],
  ])('that writes JSON: %j', (template, expected) => {
    expect(rendered(template, { v: { b: ['ü"\n</', 1.5, true, null], a: {} } })).toBe(expected);
  });

  it.each([
    ["{{ m | map(attribute='n') | list }} {{ m | map(attribute='n', default=0) | sum }}", '[2, 1, Undefined] 3'],
    [
      "{{ m | selectattr('r', 'equalto', 'u') | list | length }} {{ m | rejectattr('n') | list }} {{ m | selectattr('n', 'defined') | map(attribute='r') | join }}",
      "2 [{'r': 'u'}] ua",
    ],
    [
      "{{ none | selectattr('r') | list }} {{ ['a', 'B'] | map('upper') | list }} {{ [1, 2, 3] | select('odd') | list }}",
      "[] ['A', 'B'] [1, 3]",
    ],
    [
      '{{ d | items | list }} {{ d | dictsort }} {{ d | dictsort(reverse=true) }} {{ d | list }} {{ d | length }}',
      "[('b', 1), ('A', 2)] [('A', 2), ('b', 1)] [('b', 1), ('A', 2)] ['b', 'A'] 2",
    ],
    [
      "{{ ['b', 'A', 'a'] | sort }} {{ ['b', 'A'] | sort(case_sensitive=true) }} {{ ['b', 'A', 'B'] | unique | list }}",
      "['A', 'a', 'b'] ['A', 'b'] ['b', 'A']",
    ],
    [
      '{{ [3, 1] | min }} {{ [3, 1] | max }} {{ [3, 1] | first }} {{ [3, 1] | last }} {{ [] | first }}|{{ [1, 2, 3] | batch(2, 0) | list }}',
      '1 3 3 1 |[[1, 2], [3, 0]]',
    ],
    [
      "{{ [2, 1] | reverse | list }} {{ 'ab' | reverse }} {{ m[:2] | sort(attribute='n') | map(attribute='r') | join }}",
      '[1, 2] ba au',
    ],
  ])('of lists and dicts: %j', (template, expected) => {
    expect(rendered(template, { m: [{ r: 'u', n: 2 }, { r: 'a', n: 1 }, { r: 'u' }], d: { b: 1, A: 2 } })).toBe(
      expected,
    );
  });

  it.each([
    [
      "{{ '12' | int }} {{ 'x' | int(7) }} {{ 'ff' | int(base=16) }} {{ 1.9 | int }} {{ '1.5' | float }}",
      '12 7 255 1 1.5',
    ],
    [
      "{{ 2.5 | round }} {{ 1.25 | round(1) }} {{ 1.2 | round(method='ceil') }} {{ -3 | abs }} {{ 5 | round }}",
      '2.0 1.2 2.0 3 5',
    ],
  ])('of numbers: %j', (template, expected) => {
    expect(rendered(template)).toBe(expected);
  });
});

describe('a test', () => {
  it.each([
    [
      "{{ 1 is integer }} {{ 1.0 is float }} {{ true is number }} {{ true is integer }} {{ 'a' is string }} {{ d is mapping }}",
      'True True True False True True',
    ],
    [
      "{{ d is iterable }} {{ 'a' is sequence }} {{ nothing is iterable }} {{ d.items() is sequence }} {{ 1 is iterable }}",
      'True True True False False',
    ],
    [
      '{{ nothing is defined }} {{ nothing is not defined }} {{ none is none }} {{ false is false }} {{ 0 is false }}',
      'False True True True False',
    ],
    [
      "{{ 3 is odd }} {{ 4 is divisibleby 2 }} {{ 3 is in [3] }} {{ 3 is eq(3) and 1 }} {{ 'a' is lower }} {{ nothing is undefined or 1 }}",
      'True True True 1 True True',
    ],
  ])("knows Python's types: %j", (template, expected) => {
    expect(rendered(template, { d: {} })).toBe(expected);
  });

  it.each([
    ['{{ [2, 1] | max(key=1) }}', "error: max() got an unexpected keyword argument 'key'"],
    ['{{ [] | rejectattr }}', 'error: rejectattr() misses an argument'],
    ["{{ 'a' | replace('a') }}", 'error: replace() misses an argument'],
    ['{{ 1 is divisibleby }}', 'error: divisibleby() misses an argument'],
    ["{{ 6 is divisibleby '3' }}", "error: 'str' is not a number"],
    ['{{ 6 is divisibleby x }}', "error: 'x' is undefined"],
    ['{{ [none, none] | sort }}', '[None, None]'],
  ])('binds its arguments: %j', (template, expected) => {
    expect(rendered(template)).toBe(expected);
  });
});
