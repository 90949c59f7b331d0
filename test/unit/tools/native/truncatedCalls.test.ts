import { describe, expect, it } from 'vitest';
import type { CallLayout, ParameterLayout } from '../../../../src/tools/native/layout.ts';
import { nativeFormat } from '../../../../src/tools/native/nativeFormat.ts';

const json: CallLayout = {
  header: '',
  open: '<calls>',
  close: '</calls>',
  separator: '',
  end: '',
  before: ['<call>'],
  between: [' in <|message|>'],
  after: ['</call>'],
  arguments: { kind: 'json', keys: undefined },
};
const parameters = (values: Partial<ParameterLayout>): ParameterLayout => ({
  kind: 'parameters',
  values: 'tagged',
  open: '>\n',
  separator: '\n',
  empty: '>',
  key: '<arg=',
  string: { open: '>\n', close: '\n</arg>' },
  other: { open: '>\n', close: '\n</arg>' },
  style: { quote: '', true: 'true', false: 'false', null: 'null' },
  ...values,
});
const tagged: CallLayout = {
  ...json,
  open: '',
  close: '',
  before: ['<tool>\n<do='],
  between: [],
  after: ['\n</do>\n</tool>'],
  arguments: parameters({}),
};
const keyValue: CallLayout = {
  ...tagged,
  before: ['<tool>call:'],
  after: ['}</tool>'],
  arguments: parameters({
    values: 'keyValue',
    open: '{',
    separator: ',',
    empty: '{',
    key: '',
    string: { open: ':', close: '' },
    other: { open: ':', close: '' },
    style: { quote: '<q>', true: 'true', false: 'false', null: 'null' },
  }),
};
const python: CallLayout = {
  ...tagged,
  open: '<calls>[',
  close: ']</calls>',
  separator: ', ',
  before: [],
  after: [')'],
  arguments: parameters({
    values: 'python',
    open: '(',
    separator: ', ',
    empty: '(',
    key: '',
    string: { open: '=', close: '' },
    other: { open: '=', close: '' },
    style: { quote: '"', true: 'True', false: 'False', null: 'None' },
  }),
};

// The number of calls that are complete after each cut, by what the text must then hold.
const cases: readonly (readonly [string, CallLayout, string, readonly string[]])[] = [
  ['named JSON', json, '<calls><call>look in <|message|>{"at": "lamp", "near": true}</call></calls>', ['true}']],
  [
    'tagged parameters',
    tagged,
    '<tool>\n<do=look>\n<arg=at>\nlamp\n</arg>\n<arg=near>\ntrue\n</arg>\n</do>\n</tool>',
    ['</do>'],
  ],
  ['keys and values', keyValue, '<tool>call:look{near:true,at:<q>the lamp<q>}</tool>', ['<q>}']],
  ['Python calls', python, '<calls>[look(at="lamp", near=True), wait(seconds=3)]</calls>', ['True)', '=3)']],
];

describe('a reply that ends inside a call', () => {
  it.each(cases)('has only the calls that are complete: %s', (_, layout, text, completions) => {
    const format = nativeFormat(layout);
    const [anchor = ''] = layout.open === '' ? ['<tool>'] : ['<calls>'];
    for (let end = 1; end <= text.length; end++) {
      const cut = text.slice(0, end);
      const complete = completions.filter((completion) => cut.includes(completion)).length;
      const { calls, truncated } = format.detect(cut);
      expect([cut, calls.length]).toEqual([cut, complete]);
      if (cut.length > anchor.length + 1 && complete === 0) expect([cut, truncated]).toEqual([cut, true]);
    }
  });
});
