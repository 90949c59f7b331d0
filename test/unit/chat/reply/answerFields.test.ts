import { describe, expect, it } from 'vitest';
import {
  AnswerFieldReader,
  type FieldDeclaration,
  compileAnswerForm,
} from '../../../../src/chat/reply/answerFields.ts';
import { GrammarMatcher, fits } from '../../../../src/chat/grammar/matcher.ts';
import { expectLinearTime } from '../../../helpers/linearTime.ts';

const mood: FieldDeclaration = { name: 'mood', type: 'enum', values: ['calm', 'calm as "ice"', 'wütend 😡'] };
const say: FieldDeclaration = { name: 'say', type: 'speech' };
const thought: FieldDeclaration = { name: 'a thought', type: 'text' };
const price: FieldDeclaration = { name: 'price', type: 'integer', minimum: 1, maximum: 20 };

const formOf = (...fields: readonly FieldDeclaration[]) => {
  const form = compileAnswerForm(fields);
  if (!form.ok) throw new Error(JSON.stringify(form.errors));
  return form.value;
};

/** What a reader tells of a reply that comes in pieces of so many characters. */
function read(reply: string, length: number, ...fields: readonly FieldDeclaration[]) {
  const told: string[] = [];
  let speech = '';
  const reader = new AnswerFieldReader(formOf(...fields), {
    onField: (name, value) => void told.push(`${name}=${JSON.stringify(value)}`),
    onSpeech: (piece) => void (speech += piece),
    onSpeechEnd: () => void told.push(speech),
  });
  const characters = [...reply];
  for (let at = 0; at < characters.length; at += length) reader.push(characters.slice(at, at + length).join(''));
  return { told, speech, ...reader.result };
}

const whole = String.raw`{"mood": "calm as \"ice\"", "say": "\"Hi\"\n\\ \u00e9 \ud83d\ude00 ü", "a thought": "", "price": 12}`;

describe('the form of an answer', () => {
  const form = formOf(mood, say, thought, price);

  it('is a grammar in which the fields have their order and their values', () => {
    expect(fits(whole, form.rule)).toBe(true);
    for (const wrong of [
      whole.replace('calm as', 'calm, as'),
      whole.replace('12}', '21}'),
      whole.replace(', "price": 12', ''),
      '{"say": "Hi", "mood": "calm", "a thought": "", "price": 1}',
      '{"mood": "calm", "say": "", "a thought": "", "price": 1}',
      `{"mood": "calm", "say": "Hi", "a thought": "${'a'.repeat(1001)}", "price": 1}`,
    ])
      expect(fits(wrong, form.rule)).toBe(false);
  });

  it('leaves only values to the model', () => {
    const { texts } = GrammarMatcher.start(form.rule).forcedText();
    expect(texts.map(({ text }) => text).join('')).toBe('{"mood": "');
    expect(form.description).toBe(
      String.raw`{"mood": "calm" | "calm as \"ice\"" | "wütend 😡", "say": "what you say", "a thought": "text", "price": integer from 1 to 20}`,
    );
  });

  it('cannot be larger than a grammar may be', () => {
    const values = Array.from({ length: 256 }, (_, index) => `${index}${'x'.repeat(200)}`);
    const emote: FieldDeclaration = { name: 'emote', type: 'enum', values };
    const errorsOf = (...fields: readonly FieldDeclaration[]) => compileAnswerForm([say, ...fields]);
    expect(errorsOf(emote, { ...emote, name: 'pose' })).toMatchObject({ ok: false, errors: [{ pointer: '/2' }] });
    const larger: FieldDeclaration = { ...emote, values: values.map((value) => value.repeat(2)) };
    expect(errorsOf(larger)).toMatchObject({ ok: false, errors: [{ pointer: '/1/values' }] });
  });

  it('is told what no grammar can bound', () => {
    const numbers = compileAnswerForm([say, { name: 'price', type: 'number', minimum: 0.5 }]);
    expect(numbers).toMatchObject({ ok: false, errors: [{ pointer: '/1/minimum' }] });
  });
});

describe('a reader of fields', () => {
  it.each([1, 2, 3, 7, 1000])('reads a reply in pieces of %i characters', (length) => {
    expect(read(whole, length, mood, say, thought, price)).toEqual({
      told: ['mood="calm as \\"ice\\""', '"Hi"\n\\ é 😀 ü', 'a thought=""', 'price={"digits":"12"}'],
      speech: '"Hi"\n\\ é 😀 ü',
      json: String.raw`{"mood": "calm as \"ice\"", "say": "\"Hi\"\n\\ é 😀 ü", "a thought": "", "price": 12}`,
      missing: [],
    });
  });

  it.each([1, 2, 3, 4, 5, 1000])('reads numbers with a fraction in pieces of %i characters', (length) => {
    const weight: FieldDeclaration = { name: 'weight', type: 'number' };
    const height: FieldDeclaration = { name: 'height', type: 'number' };
    expect(read('{"weight": -12.75, "say": "Hi", "height": 0.5}', length, weight, say, height)).toMatchObject({
      told: ['weight={"digits":"-12.75"}', 'Hi', 'height={"digits":"0.5"}'],
      missing: [],
    });
  });

  it('tells a value before the next field begins, and a speech before it ends', () => {
    expect(read('{"mood": "calm"', 1, mood, say).told).toEqual(['mood="calm"']);
    expect(read('{"mood": "calm", "say": "Hel', 1, mood, say)).toMatchObject({ speech: 'Hel', missing: [] });
    expect(read(String.raw`{"say": "Hel\ud83d\ude`, 1, say)).toMatchObject({ speech: 'Hel' });
    expect(read('{"price": 1', 1, price, say)).toMatchObject({ told: [], missing: ['price', 'say'] });
  });

  it('ignores what the form does not allow, and takes what is no JSON as speech', () => {
    const reply = '{"mood": "glad", "x": [1, {}], "price": 99, "price":2 ,\n"say" : "Hi", "price": 3}';
    expect(read(reply, 1, mood, price, say)).toMatchObject({
      told: ['price={"digits":"2"}', 'Hi'],
      missing: ['mood'],
      json: '{"price": 2, "say": "Hi"}',
    });
    expect(read(' Hi "you"', 2, mood, say)).toMatchObject({ speech: ' Hi "you"', missing: ['mood'] });
    expect(read('{mood: 1, "say": "Hi"}', 2, mood, say)).toMatchObject({ speech: '', missing: ['mood', 'say'] });
    for (const broken of ['{"x": [1}], "say": "Hi"}', '{"x" 1, "say": "Hi"}', '{} {"say": "Hi"}'])
      expect(read(broken, 1, mood, say)).toMatchObject({ speech: '', missing: ['mood', 'say'] });
  });

  it('takes the first of two values of a field, also of the speech', () => {
    const twice = '{"mood": "calm", "say": "One.", "mood": "wütend 😡", "say": "Two.", "price": 3}';
    expect(read(twice, 1, mood, say, price)).toMatchObject({
      told: ['mood="calm"', 'One.', 'price={"digits":"3"}'],
      speech: 'One.',
    });
  });

  it('goes on after half of a surrogate pair', () => {
    for (const half of [String.raw`\ud83d`, String.raw`\ud83d\n`, String.raw`\ude00`])
      expect(read(`{"say": "a${half}b", "price": 3}`, 1, say, price)).toMatchObject({
        told: [expect.any(String), 'price={"digits":"3"}'],
      });
  });

  it.each([
    ['a list', '{"x": [', '1, ', '1], "say": "Hi"}'],
    ['lists in a list', '{"x": [', '[1], ', '1], "say": "Hi"}'],
    ['a text', '{"x": "', String.raw`a[\"`, '", "say": "Hi"}'],
    ['a key', '{"', 'x', '": 1, "say": "Hi"}'],
    ['a number', '{"x": ', '1', ', "say": "Hi"}'],
    ['white space', '{"x": ', ' ', '1, "say": "Hi"}'],
    ['white space before it', '', ' ', '{"x": 1, "say": "Hi"}'],
    ['members', '{', '"x": "", ', ' "say": "Hi"}'],
  ])('takes time linear in %s, in pieces and as a whole', async (_what, start, unit, end) => {
    for (const length of [1, 1e6])
      await expectLinearTime((times) => {
        const answer = read(start + unit.repeat(300 * times) + end, length, mood, say);
        expect(answer).toMatchObject({ speech: 'Hi', missing: ['mood'] });
      });
  });
});
