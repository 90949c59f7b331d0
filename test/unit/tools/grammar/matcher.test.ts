import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { schemas } from '../../../../scripts/evals/strict/cases.mjs';
import { fits, GrammarMatcher } from '../../../../src/tools/grammar/matcher.ts';
import { objectSchema, ruleFor } from '../../../helpers/grammarRules.ts';

describe('a grammar matcher', () => {
  it('reports forced text', () => {
    const rule = ruleFor(objectSchema({ name: { enum: ['set_light', 'set_mood'] }, on: { type: 'boolean' } }));
    const { texts, matcher } = GrammarMatcher.start(rule).forcedText();
    expect(texts.map(({ text }) => text).join('')).toBe('{"name": "set_');
    const next = matcher.accept('light').matcher.forcedText();
    expect(next.texts.map(({ text }) => text).join('')).toBe('", "on": ');
    const last = next.matcher.accept('f').matcher.forcedText();
    expect(last.texts.map(({ text }) => text).join('')).toBe('alse}');
    expect(last.matcher.mustEnd).toBe(true);
  });

  it('stops where a text no longer matches', () => {
    const { length, matcher } = GrammarMatcher.start(ruleFor({ type: 'string', maxLength: 2 })).accept('"🎉ab"');
    expect(length).toBe('"🎉a'.length);
    expect(matcher.forcedText().texts).toEqual([{ kind: 'text', text: '"' }]);
  });

  it('takes linear time for ambiguous rules', () => {
    const rule = ruleFor({ type: 'array', items: { anyOf: [{ type: 'integer' }, { type: 'number' }, {}] } });
    const text = `[${Array.from({ length: 2000 }, (_, index) => index).join(', ')}]`;
    expect(fits(text, rule)).toBe(true);
  });

  it.each(schemas.map((schema) => [JSON.stringify(schema), schema]))('accepts only values of %s', (_, schema) => {
    const validate = new Ajv({ strict: false, formats: { date: true, 'date-time': true, uuid: true, email: true } });
    const isValid = validate.compile(schema);
    const random = createRandom(7);
    const texts = Array.from({ length: 50 }, () => generateText(GrammarMatcher.start(ruleFor(schema)), random));
    expect(texts.filter((text) => !isValid(JSON.parse(text)))).toEqual([]);
  });
});

/** Generates a random text that the matcher accepts. */
function generateText(from: GrammarMatcher, random: () => number): string {
  let text = '';
  for (let matcher = from; !(matcher.canEnd && (matcher.mustEnd || random() < 0.3));) {
    const rules = matcher.continuations.flatMap(([first]) => first ?? []);
    const rule = rules[Math.floor(random() * rules.length)];
    const range = rule?.kind === 'char' ? rule.ranges[Math.floor(random() * rule.ranges.length)] : undefined;
    const next = range
      ? String.fromCodePoint(range[0] + Math.floor(random() * (range[1] - range[0] + 1)))
      : rule?.kind === 'text'
        ? rule.text
        : '';
    text += next;
    matcher = matcher.accept(next).matcher;
  }
  return text;
}

function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
