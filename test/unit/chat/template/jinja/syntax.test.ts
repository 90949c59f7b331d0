import { describe, expect, it } from 'vitest';
import { rendered } from './rendered.ts';

describe('an invalid template', () => {
  it.each([
    ['a\n{{ x', 'error: line 2: the last tag has no end'],
    ['{% if x %}', 'error: line 1: expected "elif" or "else" or "endif", found the end of the template'],
    ['{% endif %}', 'error: line 1: unknown tag "endif" before this, found "%}"'],
    ['\n{{ 1 + }}', 'error: line 2: expected an expression, found "}}"'],
    ['{{ f(a=1, 2) }}', 'error: line 1: a positional argument follows others, found "2"'],
    ['{# never closed', 'error: line 1: the comment has no end'],
    ['{% raw %}x', 'error: line 1: "raw" has no end'],
    ['{{ a ? b }}', 'error: line 1: unexpected "?"'],
  ])('names the line: %j', (template, expected) => {
    expect(rendered(template)).toBe(expected);
  });
});

describe('what differs from Python on purpose', () => {
  it('methods that change a list work, on a copy of the data', () => {
    const ids = ['a'];
    const template = "{% set _ = ids.append('b') %}{{ ids }}{{ ids.pop(0) }}{% set _ = ids.extend([1]) %}{{ ids }}";
    expect(rendered(template, { ids })).toBe("['a', 'b']a['b', 1]");
    expect(ids).toEqual(['a']);
  });

  it('safe does not escape HTML in what is added to the text', () => {
    expect(rendered("{{ '<'|safe + '\"&' }}")).toBe('<"&');
  });

  it('private-use characters are never escaped, because they mask characters of the prompt', () => {
    const mask = '\u{e000}\u{f8ff}';
    expect(rendered('{{ [x] }}{{ x | tojson(ensure_ascii=true) }}', { x: mask })).toBe(`['${mask}']"${mask}"`);
  });

  it('an unknown filter or test is an error only where it is used', () => {
    expect(rendered('{% if false %}{{ 1 | unknown }}{{ 1 is unknown }}{% endif %}ok')).toBe('ok');
    expect(rendered('{{ 1 | unknown }}')).toBe("error: No filter named 'unknown'.");
  });
});
