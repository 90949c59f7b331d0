import { describe, expect, it } from 'vitest';
import { freeVariables } from '../../../../../src/chat/template/thinkingVariable.ts';
import { JinjaTemplate } from '../../../../../src/chat/template/jinja/template.ts';

describe('the free variables of a template', () => {
  it.each([
    ['{{ a }}{{ b.c[d] }}{{ e | f(g, h=i) }}', 'a b d e g i'],
    ['{% if a is defined %}{% set b = 1 %}{% endif %}{{ b }}', 'a'],
    ['{% if not a is defined %}{% set a = 1 %}{% endif %}{{ a }}', 'a'],
    ['{% set a = a | default(1) %}{{ a }}', 'a'],
    ['{% set a, b = c, 1 %}{{ a }}{{ b }}', 'c'],
    ['{% for a, b in c if a and d %}{{ loop.index }}{{ b }}{% else %}{{ e }}{% endfor %}{{ b }}', 'c d e b'],
    ['{% for x in [1] %}{% set a = 1 %}{% endfor %}{{ a }}', 'a'],
    ['{% macro m(a, b=c) %}{{ a }}{{ b }}{{ caller() }}{{ d }}{% endmacro %}{{ m() }}{{ a }}', 'c d a'],
    ['{% call(a) m(b) %}{{ a }}{{ c }}{% endcall %}', 'm b c'],
    ['{% set n = namespace(a=b) %}{% set n.c = d %}{% set o.p = 1 %}', 'namespace b d o'],
    ['{% set a | f(b) %}{{ c }}{% endset %}{% filter g(d) %}{{ a }}{% endfilter %}', 'c b d'],
    ['{% with a = b %}{{ a }}{% endwith %}{{ x[1:y] }}{{ -z }}{{ [u] }}{{ (v,) }}{{ {w: 1} }}', 'b x y z u v w'],
    [
      '{{ a and b or not c }}{{ d ~ e }}{{ f < g in h }}{{ i if j else k }}{{ l(*m, **n) }}{{ 1 + o }}',
      'a b c d e f g h j i k l m n o',
    ],
    ['text {{ true }}{{ none }}{{ 1 }}{% raw %}{{ a }}{% endraw %}', ''],
  ])('%j', (source, expected) => {
    expect(freeVariables(new JinjaTemplate(source).statements).join(' ')).toBe(expected);
  });
});
