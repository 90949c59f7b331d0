import { describe, expect, it } from 'vitest';
import { probeChatTemplate } from '../../../../src/chat/template/chatTemplate.ts';

const ends = { bos: '<s>', eos: '</s>' };
const turns =
  '{{ tools | tojson if tools }}{% for message in messages %}[{{ message.role }}]{{ message.content }}{% endfor %}\n';
const calls = (before: string): string =>
  `${turns}{% for message in messages %}{% for call in message.tool_calls or [] %}${before}` +
  '{{ call.function.name }}{{ call.function.arguments | tojson }}</call>{% endfor %}{% endfor %}';
const longLoop = '{% for a in range(900) %}{% for b in range(1000) %}{% endfor %}{% endfor %}';
const variables = (count: number): string =>
  Array.from({ length: count }, (_, index) => `{% if think${index} %}{% endif %}`).join('');
const long = (name: string, doublings: number): string =>
  `{% set ns.${name} = 'a' %}{% for i in range(${doublings}) %}{% set ns.${name} = ns.${name} + ns.${name} %}{% endfor %}`;
/** Operations on two long texts, of which each is cheap as a step of the program. */
const onLongTexts = (operation: string): string =>
  `${turns}{% set ns = namespace() %}${long('t', 21)}${long('p', 17)}{{ ${operation} }}`;
const often = (operation: string): string =>
  `${turns}{% set ns = namespace() %}${long('t', 21)}{% for i in range(90000) %}{% set x = ${operation} %}{% endfor %}`;
const refusal = /^its chat template is refused: hostile\.jinja, line \d+: (the template|trying it out) (takes|makes)/;

describe('a chat template that is slow to try out', () => {
  it.each([
    ['takes long for each prompt', turns + longLoop],
    ['takes long, with many variables of reasoning', turns + longLoop + variables(40)],
    ['reads very many variables of reasoning', turns + variables(2000)],
    ['writes very long calls', calls("{{ '<call>' * 100000 }}")],
    ['searches a long text from its end for one that repeats', onLongTexts("ns.t.rfind(ns.p + 'b')")],
    ['looks for very many long starts of a text', onLongTexts("(ns.t + 'b').startswith((ns.t + 'c',) * 90000)")],
    ['makes the smallest of texts of which one is long', onLongTexts("([ns.t] + ['b'] * 90000) | min")],
    ['sorts long texts', onLongTexts('([ns.t] * 90000) | sort | length')],
    ['makes long texts unique', onLongTexts('([ns.t] * 90000) | unique | list | length')],
    ['formats a text into very many places', onLongTexts("('%s' * 9000) % ((ns.t,) * 9000)")],
    ['strips many characters often', often("''.strip(ns.t)")],
    ['trims many characters often', often("'' | trim(ns.t)")],
    ['tests a long text often', often('ns.t is lower')],
    ['writes the time in a long format often', often('strftime_now(ns.t)')],
    ['has a long key often', often('{ns.t: 1, ns.t + "b": 2}')],
    ['calls a macro with very many arguments often', `{% macro f() %}{% endmacro %}${often('f(*range(90000))')}`],
  ])('%s is refused with its name and line', (_, source) => {
    expect(() => probeChatTemplate(source, ends, 'hostile.jinja')).toThrow(refusal);
  });

  it('is refused again when it is loaded again', () => {
    for (const load of ['first', 'again'])
      expect(() => probeChatTemplate(often('ns.t is lower'), ends, 'hostile.jinja'), load).toThrow(refusal);
  });

  it.each(['[] * 4000000000', '() * 4000000000'])('repeats nothing often and is used: %s', (nothing) => {
    expect(probeChatTemplate(`${turns}{{ (${nothing}) | length }}`, ends).fallback).toBeUndefined();
  });

  it('has very many names and loops, and is refused before they are compared with each other', () => {
    const names = Array.from({ length: 25_000 }, (_, index) => `{% set a${index} = 1 %}`).join('');
    const source = turns + names + '{% for x in [] %}{% endfor %}'.repeat(15_000);
    expect(() => probeChatTemplate(source, ends)).toThrow(/too many steps|takes more than/);
  });

  it('with very many marks before a call is used without its layout', () => {
    const marks = '{% for i in range(500) %}<mark{{ i }}>{% endfor %}';
    const template = probeChatTemplate(calls(marks), ends);
    expect(template.fallback).toBeUndefined();
    expect(template.toolDialect).toMatchObject({ format: undefined, layout: undefined });
    expect(template.toolDialect.because).toContain('more than 2048 characters around a call');
  });
});
