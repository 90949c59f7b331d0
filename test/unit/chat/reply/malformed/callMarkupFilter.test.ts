import { describe, expect, it } from 'vitest';
import { createRng } from '../../../../../scripts/seededRandom.mjs';
import { CallMarkupFilter } from '../../../../../src/chat/reply/malformed/streamableText.ts';
import { isWhole, scaled } from '../../../../helpers/depth.ts';
import { mutatedReplies } from '../../../../helpers/mutatedReplies.ts';

/** What a filter lets through of pieces of a text, and the markup that it takes out. */
function filter(pieces: Iterable<string>, own?: ConstructorParameters<typeof CallMarkupFilter>[0]) {
  const markup = new CallMarkupFilter(own);
  let text = '';
  for (const piece of pieces) text += markup.push(piece);
  return { text: text + markup.flush(), unread: markup.unread.map((call) => call.text) };
}

const call = '<tool_call>\n{"name": "f", "arguments": {"x": 1}}\n</tool_call>';

describe('streamed text without call markup', () => {
  it.each<[string, string, readonly string[]]>([
    ['', '', []],
    [' It is dark.\n\nVery. ', ' It is dark.\n\nVery. ', []],
    [call, '', [call]],
    [`${call}\n${call}`, '', [call, call]],
    [`It is dark.\n${call}\nIt is done.`, 'It is dark.\nIt is done.', [call]],
    [`It is dark. ${call} It is done.`, 'It is dark. It is done.', [call]],
    [`Yes${call}No`, 'Yes No', [call]],
    [
      `It is dark.\n\`\`\`json\n${call}\n\`\`\`\nIt is done.`,
      'It is dark.\nIt is done.',
      [`\`\`\`json\n${call}\n\`\`\``],
    ],
    ['It is dark. <tool_call>{"name": "f", "argu', 'It is dark. ', ['<tool_call>{"name": "f", "argu']],
    ['It is dark. <tool_ca', 'It is dark. ', ['<tool_ca']],
    ['<tool_call>get_ti', '', ['<tool_call>get_ti']],
    ['Use the <tool_call> tag.', 'Use the tag.', ['<tool_call>']],
    ['Use the <tool_call>, please.', 'Use the , please.', ['<tool_call>']],
    ['<function=f>{"x": {}}</function> Done.', 'Done.', ['<function=f>{"x": {}}</function>']],
    ['<|python_tag|>f(x=1)', '', ['<|python_tag|>f(x=1)']],
    ['Done.</tool_call>', 'Done.', ['</tool_call>']],
    [`${call}</tool_call></function_call>Done.`, 'Done.', [`${call}</tool_call></function_call>`]],
    [
      '<tool_call>{"name": "f", "arguments": {"x": "a </tool_call> b"}}</tool_call>Done.',
      'Done.',
      ['<tool_call>{"name": "f", "arguments": {"x": "a </tool_call> b"}}</tool_call>'],
    ],
    [
      '[TOOL_CALLS] [{"name": "f", "arguments": {}}]\nDone.',
      'Done.',
      ['[TOOL_CALLS] [{"name": "f", "arguments": {}}]'],
    ],
    ['<tool_call>{"name": "f", <tool_call>{"name"', '', ['<tool_call>{"name": "f", <tool_call>{"name"']],
    ['{"name": "f", "arguments": {}}', '{"name": "f", "arguments": {}}', []],
    [
      'Write `<tool_call>` first, and ``</tool_call>`` last.',
      'Write `<tool_call>` first, and ``</tool_call>`` last.',
      [],
    ],
    ['The ` key.\n\n<tool_call>{}</tool_call>Done.', 'The ` key.\nDone.', ['<tool_call>{}</tool_call>']],
    ['It starts with `<tool_call>{"na', 'It starts with `<tool_call>{"na', []],
    ['a < b, <b>c</b>, [1] and [TOOL] <tools>', 'a < b, <b>c</b>, [1] and [TOOL] <tools>', []],
  ])('however it is cut: %j', (text, passed, unread) => {
    expect(filter([text])).toEqual({ text: passed, unread });
    expect(filter(text)).toEqual({ text: passed, unread });
    for (let cut = 0; cut <= text.length; cut++)
      expect(filter([text.slice(0, cut), text.slice(cut)]), String(cut)).toEqual({ text: passed, unread });
  });

  it('takes out the marks of the model’s own layout', () => {
    const own = { opens: ['<act>'], closes: ['</act>'], inner: ['<with>'] };
    const text = 'At once.\n<act>lamp<with>{"on": true}</act>\nIt is on.';
    expect(filter(text, own)).toEqual({ text: 'At once.\nIt is on.', unread: ['<act>lamp<with>{"on": true}</act>'] });
    expect(filter(text)).toEqual({ text, unread: [] });
  });

  it('is let through at once', () => {
    const markup = new CallMarkupFilter();
    expect(markup.push('It is ')).toBe('It is ');
    expect(markup.push('dark, <')).toBe('dark, ');
    expect(markup.push('b>very</b>.')).toBe('<b>very</b>.');
    expect(markup.push('<tool_')).toBe('');
    expect(markup.push('box> ')).toBe('<tool_box> ');
    expect(markup.unread).toEqual([]);
  });

  it('has no mark, however replies with mistakes are cut', () => {
    const random = createRng(3);
    for (const { dialect, text } of mutatedReplies(isWhole ? 400 : 200, 31)) {
      if (text.includes('`')) continue;
      const whole = filter([text], dialect.format.markup);
      const pieces: string[] = [];
      for (let from = 0; from < text.length; from += pieces.at(-1)?.length ?? 1)
        pieces.push(text.slice(from, from + 1 + random.below(9)));
      expect(filter(pieces, dialect.format.markup), text).toEqual(whole);
      const { opens, closes } = dialect.format.markup ?? { opens: [], closes: [] };
      const marks = [
        ...opens,
        ...closes,
        '<tool_call>',
        '</tool_call>',
        '[TOOL_CALLS]',
        '<function=',
        '<|python_tag|>',
      ];
      expect(
        marks.filter((mark) => /^[<[]/.test(mark) && whole.text.includes(mark)),
        text,
      ).toEqual([]);
      // Nothing is lost but white space.
      let rest = text;
      for (const unread of whole.unread) {
        expect(rest, text).toContain(unread);
        rest = rest.replace(unread, '');
      }
    }
  });

  it.each([
    '<tool_call>',
    '<tool_call>{',
    '<tool_call>{"',
    '</tool_call>',
    '"</tool_call>',
    '`',
    '<',
    ' ',
    '\n',
    'a <tool_call> b ',
  ])('takes time linear in the text: %j', (unit) => {
    const text = unit.repeat(scaled(10_000));
    const pieces = Array.from({ length: Math.ceil(text.length / 10) }, (_, at) => text.slice(at * 10, at * 10 + 10));
    expect(filter(pieces)).toEqual(filter([text]));
  });
});
