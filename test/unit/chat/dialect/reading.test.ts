import { describe, expect, it } from 'vitest';
import { callText, doorCall, formatOf, lampCall, sampleTools } from '../../../helpers/templates/dialects.ts';
import { notationTemplates } from '../../../helpers/templates/notations.ts';
import { notationOutputs, outputOf } from '../../../helpers/templates/outputs.ts';
import { trapTemplates } from '../../../helpers/templates/traps.ts';

type Notation = keyof typeof notationTemplates;
const notations = Object.keys(notationTemplates) as Notation[];
const several = notations.filter((notation) => notation !== 'channel');

/** What is read in a text: calls, the text around them, and what is odd about it. */
function read(text: string, notation: Notation, tools = sampleTools) {
  const { calls, residual, truncated } = formatOf(notationTemplates[notation]).detect(text, { tools });
  const repaired = calls.flatMap((call) => (call.repaired ? [call.name] : []));
  return {
    calls: calls.map(callText),
    residual,
    ...(truncated && { truncated }),
    ...(repaired.length > 0 && { repaired }),
  };
}

/** The output with both calls, or with the one that the notation can write. */
function output(notation: Notation): { readonly text: string; readonly calls: readonly string[] } {
  const written = notationOutputs[notation];
  return notation === 'channel'
    ? { text: outputOf(written, [written.lamp]), calls: [lampCall] }
    : { text: outputOf(written, [written.lamp, written.door]), calls: [lampCall, doorCall] };
}

describe.each(notations)('an output in the notation %s', (notation) => {
  const { text, calls } = output(notation);

  it('is read with typed arguments; nothing remains', () => {
    expect(read(text, notation)).toEqual({ calls, residual: '' });
  });

  it('keeps the text around it', () => {
    expect(read(`I see.\n\n${text}\n\nDone.`, notation)).toEqual({ calls, residual: 'I see.\nDone.' });
  });

  it('is read without the white space between marks, and with more of it', () => {
    expect(read(text.replaceAll(/(?<=>)\s+(?=<)/g, ''), notation)).toEqual({ calls, residual: '' });
    expect(read(text.replaceAll(/(?<=>)(?=<)/g, '\n  '), notation)).toEqual({ calls, residual: '' });
  });

  it('is no call in reasoning, and none in code', () => {
    expect(read(`<think>${text}</think>\n\n${text}`, notation).calls).toEqual(calls);
    expect(read(`<think>${text} would do.`, notation).calls).toEqual([]);
    expect(read(`Write \`${text}\` then.`, notation).calls).toEqual([]);
  });

  it('has calls of unknown tools, too', () => {
    const names = read(text.replaceAll('lamp', 'fridge'), notation).calls.map((call) => call.split(' ')[0]);
    expect(names).toEqual(['fridge', ...calls.slice(1).map(() => 'door')]);
    expect(read(text, notation, []).calls).toHaveLength(calls.length);
  });

  it('that is cut anywhere has the first of its calls whole, or none', () => {
    for (let length = 0; length <= text.length; length++) {
      const cut = read(text.slice(0, length), notation);
      expect(cut.calls, text.slice(0, length)).toEqual(calls.slice(0, cut.calls.length));
    }
  });

  it('that is cut within the arguments is flagged, and keeps its text', () => {
    const value = text.indexOf('attic');
    for (const length of [value, value + 3, text.indexOf('level') + 1]) {
      const cut = text.slice(0, length);
      expect(read(cut, notation), cut).toEqual({ calls: [], residual: cut.trim(), truncated: true });
    }
  });
});

describe.each(several)('in the notation %s', (notation) => {
  const { lamp, door, section: [open, close] = ['', ''], between } = notationOutputs[notation];

  it('a bad call costs none of those around it', () => {
    const bad = lamp.replaceAll(/[{("=>:](?=[^]*attic)/g, '~');
    const marked = `${open}${door}${close}\n${bad}\n${open}${door}${close}`;
    expect(read(marked, notation).calls.filter((call) => call === doorCall)).toEqual([doorCall, doorCall]);
  });

  it('several sections are read', () => {
    const one = `${open}${door}${close}`;
    expect(read(`${one}\nand\n${one}`, notation)).toEqual({ calls: [doorCall, doorCall], residual: 'and' });
  });

  it('a section that is not closed counts', () => {
    expect(read(`${open}${lamp}${between}${door}`, notation)).toEqual({ calls: [lampCall, doorCall], residual: '' });
  });

  it('five calls are five', () => {
    expect(read(outputOf(notationOutputs[notation], [door, lamp, door, door, lamp]), notation).calls).toHaveLength(5);
  });
});

describe('a mark that is missing or doubled', () => {
  it.each<[Notation, string, string]>([
    ['jsonList', 'the opening mark', '[{"name": "door", "arguments": {}}]</calls>'],
    ['countedIds', 'the opening mark', '[{"call_id": "0", "tool": "door", "input": {}}]<|/do|>'],
    ['nameInId', 'the mark of the section', '<|call|>functions.door:0<|args|>{}<|/call|>'],
    ['lines', 'the first opening mark', '<to=door>\n</to>\n</act>'],
    ['lines', 'the last closing mark', '<act>\n<to=door>\n</to>'],
    ['lines', 'both of the outer marks', '<to=door>\n</to>'],
    ['attributes', 'the mark of the section', '<to name="door">\n</to>'],
    ['nameInMarks', 'nothing: the opening mark is written twice', '[TOOL_CALLS][TOOL_CALLS]door[ARGS]{}'],
    ['pairs', 'nothing: the opening mark is written twice', '<act><act>door</act>'],
    [
      'jsonList',
      'nothing: the closing mark is written twice',
      '<calls>[{"name": "door", "arguments": {}}]</calls></calls>',
    ],
    ['python', 'the bracket', '<|acts|>door()<|/acts|>'],
    ['channel', 'the header', 'work to=functions.door <|format|>json<|message|>{}<|call|>'],
    ['channel', 'the words between', '<|channel|>work to=functions.door<|message|>{}<|call|>'],
  ])('in %s: without %s', (notation, _what, text) => {
    const { calls, residual } = read(text, notation);
    expect(calls).toEqual([doorCall]);
    expect(residual).toBe('');
  });

  it.each<[Notation, string, string]>([
    ['lines', 'of a parameter', '<act><to=lamp><arg=place>attic<arg=level>3</arg></to></act>'],
    ['pairs', 'of a parameter', '<act>lamp<k>place</k><v>attic<k>level</k><v>3</v></act>'],
    ['lines', 'of the arguments', '<act><to=lamp><arg=place>attic</arg><arg=level>3</arg></act>'],
    [
      'attributes',
      'of the last parameter',
      '<acts><to name="lamp"><arg name="place">attic</arg><arg name="level">3</to></acts>',
    ],

    ['python', 'of the list', '<|acts|>[lamp(place="attic", level=3)<|/acts|>'],
    ['idAfter', 'of the object', '<do>{"name": "lamp", "arguments": {"place": "attic", "level": 3}</do>'],
  ])('in %s: the closing one %s', (notation, _what, text) => {
    expect(read(text, notation)).toMatchObject({ calls: ['lamp {"place": "attic", "level": 3}'], residual: '' });
  });

  it('of the last call, at the end of the text: the call is cut off unless nothing more could follow', () => {
    const place = '<act>\n<to=lamp>\n<arg=place>\nattic\n</arg>\n';
    expect(read(place, 'lines')).toMatchObject({ calls: [], truncated: true });
    const all = `${place}<arg=level>\n3\n</arg>\n<arg=on>\ntrue\n</arg>\n`;
    expect(read(all, 'lines')).toMatchObject({ calls: [expect.stringContaining('lamp')], repaired: ['lamp'] });
    expect(read('<act>\n<to=door>', 'lines')).toMatchObject({ calls: [doorCall], repaired: ['door'] });
    // A number that the text ends in may have more digits.
    expect(read('<|acts|>[lamp(place="attic", on=True, level=3', 'python')).toMatchObject({
      calls: [],
      truncated: true,
    });
  });
});

describe('JSON in marks', () => {
  it.each<[Notation, string]>([
    ['nameInMarks', `[TOOL_CALLS]lamp[ARGS]{'place': 'attic', 'on': True,}`],
    ['nameInId', `<|calls|><|call|>functions.lamp:0<|args|>{"place": "attic", "on": true<|/call|><|/calls|>`],
    ['idAfter', `<do>{"name": "lamp", "arguments": {"place": "attic", "on": true}</do>`],
    ['channel', `<|channel|>work to=functions.lamp <|format|>json<|message|>{"place": "attic", "on": true,}<|call|>`],
    ['nameAsKey', `<calls>[{'lamp': {'place': 'attic', 'on': True}}]</calls>`],
  ])('of %s is repaired: %s', (notation, text) => {
    expect(read(text, notation)).toMatchObject({ calls: ['lamp {"place": "attic", "on": true}'], repaired: ['lamp'] });
  });

  it('keeps the digits of a long number', () => {
    expect(read('[TOOL_CALLS]lamp[ARGS]{"level": 12345678901234567890}', 'nameInMarks').calls).toEqual([
      'lamp {"level": 12345678901234567890}',
    ]);
  });
});

describe('text that only looks like a call', () => {
  it.each<[Notation, string]>([
    ['pairs', 'Use <act> for acts.'],
    ['lines', 'A tag such as <act> or <to= is written so.'],
    ['nameInMarks', 'The mark [TOOL_CALLS] comes first.'],
    ['stringMarks', 'a {key:value} and {}'],
    ['python', 'print("x") and f(a=1)'],
    ['channel', 'We work to=gether.'],
    ['jsonList', 'An object: {"a": 1}'],
    ['nameAsKey', 'An object: {"lamp": {"place": "attic"}}'],
  ])('in %s: %s', (notation, text) => {
    expect(read(text, notation)).toMatchObject({ calls: [], residual: text });
  });
});

describe('a mark in a string', () => {
  it.each<[Notation, string, string]>([
    ['nameInMarks', '[TOOL_CALLS]lamp[ARGS]{"place": "[TOOL_CALLS]door[ARGS]{}"}', '[TOOL_CALLS]door[ARGS]{}'],
    [
      'lines',
      '<act>\n<to=lamp>\n<arg=place>\n<act><to=door></to></act>\n</arg>\n</to>\n</act>',
      '<act><to=door></to></act>',
    ],
    ['pairs', '<act>lamp<k>place</k><v>an <act> in </act></v></act>', 'an <act> in </act>'],
    ['stringMarks', '<|act>to:lamp{place:<|"|>},{<|act><act|><|"|>}<act|>', '},{<|act><act|>'],
    ['python', '<|acts|>[lamp(place=")]<|/acts|>, door()")]<|/acts|>', ')]<|/acts|>, door()'],
    ['jsonList', '<calls>[{"name": "lamp", "arguments": {"place": "]</calls>"}}]</calls>', ']</calls>'],
    ['nameInId', '<|calls|><|call|>functions.lamp:0<|args|>{"place": "<|/call|>"}<|/call|><|/calls|>', '<|/call|>'],
  ])('of %s is a part of it', (notation, text, place) => {
    expect(read(text, notation)).toEqual({ calls: [`lamp {"place": ${JSON.stringify(place)}}`], residual: '' });
  });
});

describe('a template with a trap', () => {
  it('ownMessage: what it writes before a call belongs to the call', () => {
    const text = 'I look.<|end|>\nfunction call<|role|>\n{"name": "lamp", "arguments": {"place": "attic"}}<|end|>';
    const format = formatOf(trapTemplates.ownMessage);
    const { calls, residual } = format.detect(text, { tools: sampleTools });
    expect([calls.map(callText), residual]).toEqual([['lamp {"place": "attic"}'], 'I look.']);
    expect(format.detect('The words function call<|end|>').calls).toEqual([]);
  });

  it.each(
    Object.keys(trapTemplates).filter(
      (name) => !/^no|quoted|Twice$|pythonB|own/.test(name),
    ) as (keyof typeof trapTemplates)[],
  )('%s: its calls are read', (name) => {
    const text = '<do>{"name": "lamp", "arguments": {"place": "attic \\u00fc", "on": true}}</do>';
    const { calls, residual } = formatOf(trapTemplates[name]).detect(`Yes.\n${text}`, { tools: sampleTools });
    expect([calls.map(callText), residual]).toEqual([['lamp {"place": "attic ü", "on": true}'], 'Yes.']);
  });
});
