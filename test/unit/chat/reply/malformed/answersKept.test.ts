import { describe, expect, it } from 'vitest';
import { dialects, replyTools } from '../../../../helpers/mutatedReplies.ts';
import { parseReply } from '../../../../../src/chat/reply/parseReply.ts';
import { formats } from '../../../../../src/chat/formats/index.ts';
import { collectedReplies } from '../../../../helpers/collectedReplies.ts';

const chatml = dialects.filter(({ name }) => name === 'chatml');

describe('an answer that is no call', () => {
  it.each([
    // JSON that is an answer
    '{"name": "Bob", "age": 3}',
    '[{"name": "Bob", "age": 3}, {"name": "Ann", "age": 5}]',
    '{"name": "Bob"',
    '{"answer": 42}',
    '{"tool": "hammer", "price": 12.5, "in_stock": true}',
    '{"name": "tide-app", "version": "1.0.0", "dependencies": {}}',
    '{"type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]}',
    '{"input": "milk", "output": "butter"}',
    '{"model": "small", "parameters": {"temperature": 0.5}, "seed": 3, "name": 7}',
    '{"hint": "write <tool_call> first"}',
    '{"quote": "She said: {\\"name\\": \\"Ann\\"}"}',
    '{"steps": [{"do": "light the lamp"}, {"do": "wait'.concat('"}]}'),
    'The crew: [{"name": "Ada", "age": 41}, {"name": "Bo", "age": 7}].',
    'Here it is:\n```json\n{"name": "Ada", "port": "Oban"}\n```\nSave it.',
    '{"title": "The lamp", "chapters": ["dusk", "dawn"',
    // Markdown and code
    'Write `<tool_call>` before the call, and `</tool_call>` after it.',
    'The syntax is `<tool_call>{"name": "get_tide", "arguments": {"port": "Oban"}}</tool_call>`.',
    'Say `{"name": "set_lamp", "arguments": {"room": "attic"` and close it.',
    '``[TOOL_CALLS] [{"name": "set_lamp"`` is how it starts.',
    '```js\nconst lamp = { name: "attic", on: true };\nlamp.set({ on: false });\n```',
    '```python\ndef roll(sides=6):\n    return random.randint(1, sides)\n```',
    '- [x] buy milk\n- [ ] write to [Ann](https://example.org/ann?a=1&b=2)\n- [1], [2]',
    '<b>Bold</b>, <i>not</i> <br/> and <div class="tool"><code>{"minutes": 5}</code></div>.',
    '| name | arguments |\n| --- | --- |\n| lamp | none |',
    '# Tools\n\n* hammer: for nails\n* name: its label, e.g. "Bob"',
    // Prose
    'At high water, about six o\'clock; or "half past", as they say.',
    'See [1], [2] and {3}: a set {x | x > 0}, or [a, b), if a < b and c > d.',
    'The function of the tool: it has a name, and its arguments are: {none}.',
    'name: Bob\ninput: a letter\nfunction: clerk',
    'I used {get_tide} for this, and set_lamp, too.',
    'set_lamp and get_tide are the names of my tools (two of four).',
    'Call me, tool_call or not: tools, tool calls, function calls, tool_calls.',
    'The prompt begins with [INST] and the reply with <s>, <|assistant|> or <start_of_turn>.',
    '[tool_calls] are off today: nothing works.',
    '<tool_call_log>{"entry": 3}</tool_call_log> is an element of the log.',
    'x <= 3 and y => 4; i < n; a <- b; <3 you; <- back; 1 < 2 > 0; </3',
    'Dear "name": it is "dark" here, "on": and off.',
    'Type "name": then the name, "arguments": then nothing.',
    ':-{ and }-: and :[ and ]: and {{{ and >:}',
    'He said {"hi} and left.',
    'It\'s the ["old"] way: [\'tis the season.',
    'Use List<string>, Map<K, V> and vector<int>[3].',
    '',
  ])('stays as it is: %s', (text) => {
    for (const { name, format } of dialects) {
      const { answer, content, unread, calls } = parseReply(text, format, { tools: replyTools });
      expect({ name, answer, unread, calls }).toEqual({ name, answer: text.trim(), unread: [], calls: [] });
      expect(content).toBe(answer);
    }
  });

  it.each([
    ['a JSON answer', '{"name": "set_lamp", "arguments": {"room": "attic"'],
    ['a JSON answer in a fence', '```json\n{"name": "set_lamp", "arguments": 3}\n```'],
    ['JSON that names a mark', '<tool_call>{"name": "set_lamp"'],
  ])('stays as it is where the answer has to be JSON and no tool is offered: %s', (_, text) => {
    for (const { format } of chatml) {
      const { answer, content, unread } = parseReply(text, format, { isJson: true });
      expect({ answer, unread }).toEqual({ answer: content, unread: [] });
    }
  });

  it('is not searched for bare JSON of a call where the answer has to be JSON, but for tags', () => {
    for (const { format } of chatml) {
      const read = (text: string) => parseReply(text, format, { isJson: true, tools: replyTools });
      expect(read('{"name": "set_lamp", "arguments": 3}')).toMatchObject({
        unread: [],
        answer: '{"name": "set_lamp", "arguments": 3}',
      });
      expect(read('<tool_call>{"name": "set_la')).toMatchObject({ answer: '', unread: [{}] });
    }
  });
});

describe('prose around markup', () => {
  it.each([
    ['Use the <tool_call> tag.', 'Use the tag.'],
    ['I could use <tool_call> here, but the answer is four.', 'I could use here, but the answer is four.'],
    ['The [TOOL_CALLS] marker starts a call, as the docs say.', 'The marker starts a call, as the docs say.'],
    ['[TOOL_CALLS] nothing to call', 'nothing to call'],
    ['End it with </tool_call> and nothing else.', 'End it with and nothing else.'],
    ['It is dark.\n<tool_call>\n{"name": "set_la', 'It is dark.'],
    ['It is dark.\n{"name": "set_lamp", "arguments": {"room": "attic"}\n\nIt is done.', 'It is dark.\nIt is done.'],
    ['Yes. <function=set_lamp>{"room": attic attic}</function> Done.', 'Yes. Done.'],
    ['```json\n{"name": "set_lamp", "arguments": {"room": attic attic}}\n```\nDone.', 'Done.'],
    ['Now <tool_call>set_lamp(attic)</tool_call> it is on.', 'Now it is on.'],
    ['"name": "set_lamp", "arguments": {"room": "attic"}}\nDone.', 'Done.'],
    ['<tol_call>\n{"name": "set_lamp", "arguments": {"room": attic attic}}\n</tool_cal>\nDone.', 'Done.'],
    ['Done.</tool_call>', 'Done.'],
    ['Done. <tool_', 'Done.'],
    ['{"name": "set_lamp", "arguments": {"room": "attic"}, "because": "it is dark"} Done.', 'Done.'],
    ['[set_lamp(room="attic"), roll_dice()]\nDone.', 'Done.'],
    ['set_lamp{"room": "attic"} Done.', 'Done.'],
    ['{"price": 3}\n<tool_call>{"name": }</tool_call>\n{"price": 4}', '{"price": 3}\n{"price": 4}'],
  ])('stays: %s', (text, answer) => {
    for (const { format } of chatml) {
      const reply = parseReply(text, format, { tools: replyTools });
      expect(reply).toMatchObject({ answer, calls: [], unread: [{}] });
      expect(reply.unread).toHaveLength(1);
    }
  });
});

describe('what stands beside a call', () => {
  const good = '<tool_call>{"name": "set_lamp", "arguments": {"room": "attic"}}</tool_call>';
  const bad = '<tool_call>{"name": "set_lamp", "arguments": {"room": attic attic}}</tool_call>';
  const bare = '{"name": "set_lamp", "arguments": {"room": "attic"}, "because": "it is dark"}';

  it.each([
    '"Oh well," she says.',
    '*sigh* Oh well. ;)',
    '[laughs] Oh dear. (sits down)',
    'Hello, friend (of mine)',
    'I love you <3',
    'a -> b, <- back, =^.^=',
    '[A]: go north\n[B]: go south',
    '1) Ann; 2) Bo',
    '<b>Bold</b> and <i>not</i>.',
    '<ul><li>one</li><li>two</li></ul>',
    '<function-list>x</function-list>',
    '[quote=Ann]hi[/quote]',
    '<Bo> hi\n<Ann> hello',
    '| a | b |\n|---|---|\n| 1 | [2] |',
    'std::vector<std::map<int, int>> v;',
    'print("name:", name)',
    'a[0] = b["k"]; // set',
    '[link](https://example.org/a?b=1&c=2)',
    'f: A -> B, x |-> f(x), {x | x > 0}',
    '```js\nconst lamp = { on: true };\n```',
    '{"price": 3, "items": ["axe", "rope"]}',
    '{"title": "The lamp", "chapters": ["dusk", "dawn"]',
    'He said, "it is dark, my friend", and left.',
  ])('stays: %s', (text) => {
    for (const { format } of chatml) {
      const answerOf = (reply: string): string => parseReply(reply, format, { tools: replyTools }).answer;
      for (const call of [good, bad, bare]) {
        expect(answerOf(`${text}\n${call}`)).toBe(text);
        expect(answerOf(`${call}\n\n${text}`)).toBe(text);
        // Data that nothing closes goes on to the end.
        if (!text.startsWith('{"title')) expect(answerOf(`${text} ${call} ${text}`).split(text)).toHaveLength(3);
      }
    }
  });
});

describe('the collected model outputs', () => {
  it.each(collectedReplies.map((one) => [one.id, one] as const))(
    'keep each answer that has neither a bracket nor a tag nor a keyword of react: %s',
    (_id, { format, text }) => {
      const found = formats.get(format);
      if (!found) throw new Error(`there is no format ${format}`);
      const { answer, content, unread, calls } = parseReply(text, found);
      // What follows the call of a react reply, such as an invented result, is no answer.
      const hasKeyword = format === 'react' && /\b(?:thought|action|observation|answer)\b/i.test(text);
      const hasMarkup = hasKeyword || /[<[{]/.test(content);
      if (!hasMarkup) expect({ answer, unread }).toEqual({ answer: content, unread: [] });
      if (calls.length + unread.length === 0 && answer !== content)
        throw new Error(`${content} became ${answer} without a word`);
    },
  );
});
