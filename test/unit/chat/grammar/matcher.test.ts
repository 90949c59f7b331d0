import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { schemas } from '../../../../scripts/evals/strict/cases.mjs';
import type { Stack } from '../../../../src/chat/grammar/expand.ts';
import { fits, GrammarMatcher } from '../../../../src/chat/grammar/matcher.ts';
import { all, any, object, tag, text, type Rule } from '../../../../src/chat/grammar/rule.ts';
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

  it('forces a control token, but no letters that several of them begin with', () => {
    const [call, end] = [tag('<|call|>'), tag('<|end|>')];
    const forcedBy = (rule: Rule) => GrammarMatcher.start(rule).forcedText().texts;
    expect(forcedBy(any(call, end))).toEqual([]);
    expect(forcedBy(any(call, text('<|c')))).toEqual([]);
    expect(forcedBy(any(all(call, text('a')), all(call, text('b'))))).toEqual([call]);
    const choice = GrammarMatcher.start(any(call, end));
    expect(['<|call|>', '<|end|>', '<|'].map((name) => choice.allowsTag(name))).toEqual([true, true, false]);
    expect(GrammarMatcher.start(text('<|call|>')).allowsTag('<|call|>')).toBe(false);
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

  it('has one rule for each position in the members of an object', () => {
    const members = Array.from({ length: 300 }, (_, index) => [`p${index}`, { type: 'integer' }] as const);
    const start = GrammarMatcher.start(ruleFor(objectSchema(Object.fromEntries(members), [])));
    const [earlier, later] = ['{"p7": 1', '{"p8": 2'].map((text) => membersBelow(start.accept(text).matcher));
    expect(later?.size).toBe(292);
    expect([...(later ?? [])].filter((rule) => !earlier?.has(rule))).toEqual([]);
  });

  it('reports forced text of any length in pieces', () => {
    let item: object = { const: 1 };
    for (let depth = 0; depth < 8; depth++) item = { type: 'array', items: item, minItems: 256, maxItems: 256 };
    let { matcher } = GrammarMatcher.start(ruleFor(item)).accept('');
    let text = '';
    for (let count = 0; count < 5; count++) {
      const forced = matcher.forcedText();
      const piece = forced.texts.map((rule) => rule.text).join('');
      expect(piece.length).toBeGreaterThan(500);
      expect(piece.length).toBeLessThanOrEqual(1024);
      text += piece;
      matcher = forced.matcher;
    }
    expect(text.startsWith(`[[[[[[[[${'1, '.repeat(255)}1], [1, `)).toBe(true);
  });

  it('reports forced text in smaller pieces when many alternatives begin with it', () => {
    const values = Array.from({ length: 200 }, (_, index) => `${'x'.repeat(300)}${index}`);
    const { texts, matcher } = GrammarMatcher.start(ruleFor({ enum: values })).forcedText();
    expect(texts.length).toBeLessThan(100);
    expect(matcher.forcedText().texts.map(({ text }) => text)).toContain('x');
  });

  it('splits forced text between characters', () => {
    const text = '🎉'.repeat(2000);
    let { texts, matcher } = GrammarMatcher.start(ruleFor({ const: text })).forcedText();
    const pieces: string[] = [];
    while (texts.length > 0) {
      pieces.push(texts.map((rule) => rule.text).join(''));
      ({ texts, matcher } = matcher.forcedText());
    }
    expect(pieces.length).toBeGreaterThan(3);
    expect(pieces.some((piece) => /\p{Surrogate}/u.test(piece))).toBe(false);
    expect(pieces.join('')).toBe(JSON.stringify(text));
  });

  it('accepts a long literal as a whole or in parts', () => {
    const text = JSON.stringify('ab'.repeat(100_000));
    const start = GrammarMatcher.start(ruleFor({ const: 'ab'.repeat(20_000) }));
    expect(start.accept(text).length).toBe(40_001);
    expect(
      start.accept(text.slice(0, 7)).matcher.accept(text.slice(7, 40_001)).matcher.accept('"').matcher.mustEnd,
    ).toBe(true);
  });

  it('leaves a literal between characters, even where two of them share the first half of a surrogate pair', () => {
    const start = GrammarMatcher.start(text('a🎉b'));
    const lengths = ['a🎊b', 'a\ud83c', 'a🎉', 'a🎉c', '🎊'].map((newText) => start.accept(newText).length);
    expect(lengths).toEqual([1, 1, 3, 3, 0]);
    expect(start.accept('a🎊').matcher.forcedText().texts).toEqual([text('🎉b')]);
    expect(GrammarMatcher.start(text('a\ud83c')).accept('a🎉').length).toBe(1);
  });

  it('accepts one of thousands of optional members without recursion', () => {
    const members = Array.from({ length: 20_000 }, (_, index) => ({
      key: `p${index}`,
      rule: ruleFor({}),
      required: false,
    }));
    expect(fits('{"p19999": 1}', object(members))).toBe(true);
  });

  it.each(schemas.map((schema) => [JSON.stringify(schema), schema]))('accepts only values of %s', (_, schema) => {
    const validate = new Ajv({ strict: false, formats: { date: true, 'date-time': true, uuid: true, email: true } });
    const isValid = validate.compile(schema);
    const random = createRandom(7);
    const texts = Array.from({ length: 50 }, () => generateText(GrammarMatcher.start(ruleFor(schema)), random));
    expect(texts.filter((text) => !isValid(JSON.parse(text)))).toEqual([]);
  });
});

/** The rules for members of an object on the stacks of a matcher. */
function membersBelow(matcher: GrammarMatcher): ReadonlySet<Rule> {
  const rules = new Set<Rule>();
  for (const top of matcher.stacks) for (let stack: Stack = top; stack; stack = stack.next) rules.add(stack.rule);
  return new Set([...rules].filter(({ kind }) => kind === 'members'));
}

/** Generates a random text that the matcher accepts. */
function generateText(from: GrammarMatcher, random: () => number): string {
  let text = '';
  for (let matcher = from; !(matcher.canEnd && (matcher.mustEnd || random() < 0.3));) {
    const rules = matcher.stacks.map(({ rule }) => rule);
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
