import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jsonStyle, onceForLimits } from '../../../../src/chat/grammar/jsonRules.ts';
import { all, any, many, text, type Rule } from '../../../../src/chat/grammar/rule.ts';
import { charExcept } from '../../../../src/chat/grammar/textWithout.ts';
import { parseJsonAt } from '../../../../src/chat/json/lenientParser.ts';
import { stringifyJson } from '../../../../src/chat/json/value.ts';
import { valueNotations } from '../../../../src/chat/dialect/values/index.ts';
import type { ValueNotation } from '../../../../src/chat/dialect/values/valueNotation.ts';
import { callText, dialectOf, formatOf, sampleTools } from '../../../helpers/templates/dialects.ts';
import { eachParameter, template } from '../../../helpers/templates/frame.ts';

const character: Rule = any(charExcept('"'), text('""'));

/** Strings as SQL and CSV write them, with each quote doubled; all other values in JSON. */
const doubledQuotes: ValueNotation = {
  name: 'doubledQuotes',
  explains: ({ style }) => style.quote === '"',
  read({ source: { text: content }, start, layout }) {
    const index = start + layout.other.open.length;
    const quoted = /"((?:[^"]|"")*)"/y;
    quoted.lastIndex = index;
    const inner = quoted.exec(content)?.[1];
    if (inner !== undefined)
      return { ok: true, value: inner.replaceAll('""', '"'), end: quoted.lastIndex, repaired: false };
    const parsed = parseJsonAt(content, index);
    return parsed.ok ? { ...parsed, repaired: false } : { ok: false, truncated: parsed.truncated };
  },
  spell: (value) => (typeof value === 'string' ? `"${value.replaceAll('"', '""')}"` : stringifyJson(value)),
  rules: () => ({
    ...jsonStyle,
    nested: jsonStyle,
    string: onceForLimits((limits) => all(text('"'), many(character, limits), text('"'))),
  }),
};

const source = template({
  calls: eachParameter(
    { open: `'<do>' ~ function.name ~ '('`, close: `')</do>'` },
    `key ~ '=' ~ ('"' ~ value | replace('"', '""') ~ '"' if value is string else value | tojson)`,
    { between: ', ' },
  ),
});

describe('a notation that is added', () => {
  it('is missed: none of the others proves the template', () => {
    expect(dialectOf(source).format).toBeUndefined();
  });

  describe('with one line', () => {
    const notations = valueNotations as Map<string, ValueNotation>;
    beforeAll(() => notations.set(doubledQuotes.name, doubledQuotes));
    afterAll(() => notations.delete(doubledQuotes.name));

    it('is proved by the template, among others that could explain it', () => {
      const { format, layout } = dialectOf(source);
      expect(format).toBe('native');
      expect(layout?.arguments).toMatchObject({ kind: 'parameters', values: 'doubledQuotes' });
    });

    it('reads what a model writes', () => {
      const output = 'Yes. <do>lamp(place="the ""old"" attic", level=3, on=true)</do><do>door()</do>';
      const { calls, residual } = formatOf(source).detect(output, { tools: sampleTools });
      expect(calls.map(callText)).toEqual(['lamp {"place": "the \\"old\\" attic", "level": 3, "on": true}', 'door {}']);
      expect(residual).toBe('Yes.');
    });

    it('takes nothing from the others', () => {
      expect(
        dialectOf(source.replace("replace('\"', '\"\"')", "replace('\"', '\\\\\"')")).layout?.arguments,
      ).toMatchObject({
        values: 'python',
      });
    });
  });
});
