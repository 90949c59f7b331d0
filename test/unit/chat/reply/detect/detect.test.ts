import { describe, expect, it } from 'vitest';
import { fuzzTarget, corpus } from '../../../../../scripts/fuzz/detect.mjs';
import { formats } from '../../../../../src/chat/formats/index.ts';
import type { DetectedCall, Detection } from '../../../../../src/chat/tool.ts';
import { stringifyJson } from '../../../../../src/chat/json/value.ts';
import { isWhole, scaled } from '../../../../helpers/depth.ts';
import { expectLinearTime } from '../../../../helpers/linearTime.ts';
import { collectedReplies, firstReplies, type CollectedReply } from '../../../../helpers/collectedReplies.ts';

function detect(format: string, text: string): Detection {
  const toolFormat = formats.get(format);
  if (toolFormat === undefined) throw new Error(`no format is called "${format}"`);
  return toolFormat.detect(text);
}

const formatCall = ({ name, arguments: args }: DetectedCall): string => `${name} ${stringifyJson(args)}`;

/** The calls in a text, and the residual text. */
const detectTexts = (format: string, text: string): readonly [readonly string[], string] => {
  const { calls, residual } = detect(format, text);
  return [calls.map(formatCall), residual];
};

const call = '{"name": "f", "arguments": {"x": 1}}';
const callText = 'f {"x": 1}';
const inTag = (json: string): string => `<tool_call>${json}</tool_call>`;

function expectDetection({ format, text, expect: expected }: CollectedReply): void {
  const { calls, residual } = detect(format, text);
  expect(calls.map(({ name, arguments: args }) => ({ name, arguments: JSON.parse(stringifyJson(args)) }))).toEqual(
    expected.calls,
  );
  expect(residual).toBe(expected.residual);
  for (const { raw, arguments: args } of calls) {
    expect(text).toContain(raw);
    // JSON fixtures cannot hold long numbers exactly, so their digits are compared with the raw text.
    for (const digits of stringifyJson(args).match(/\d{16,}/g) ?? []) expect(raw).toContain(digits);
  }
}

describe('the collected model outputs', () => {
  it.each(collectedReplies.map((testCase) => [testCase.id, testCase.class, testCase] as const))(
    'detect the calls of %s: %s',
    (_id, _kind, testCase) => expectDetection(testCase),
  );

  it('have unique ids', () => {
    const ids = collectedReplies.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('reasoning', () => {
  it.each<[string, string, readonly string[]]>([
    ['hides a call', `<think>${inTag(call)}</think>`, []],
    ['hides a bare call', `<think>${call}</think>\nThe answer is four.`, []],
    ['hides the rest when it never ends', `${inTag(call)}<think>${inTag(call)}`, [callText]],
    ['hides what precedes a lone closing tag', `hm ${inTag('{"name": "g"}')}</think>${inTag(call)}`, [callText]],
    [
      'hides what precedes the last of several closing tags',
      `${call}</think>${call}[/THINK]${inTag(call)}`,
      [callText],
    ],
    ['does not hide a call between two of its blocks', `<think>a</think>${inTag(call)}[THINK]b[/THINK]`, [callText]],
    ['is text in an argument', inTag('{"name": "f", "arguments": {"x": "<think>"}}'), ['f {"x": "<think>"}']],
    ['is skipped before a call at the start of the text', `<think>a</think>\n{'name': 'f'}`, ['f {}']],
  ])('%s', (_rule, text, calls) => expect(detectTexts('chatml', text)[0]).toEqual(calls));
});

describe('a tag', () => {
  it.each([
    ['<tool_call>', '</tool_call>'],
    ['<|tool_call|>', '<|/tool_call|>'],
    ['<function_call>', '</function_call>'],
    ['[TOOL_CALLS]', '[/TOOL_CALLS]'],
    ['<|python_tag|>', '<|eom_id|>'],
  ])('%s is a tag in every format', (opens, closes) => {
    for (const format of formats.keys()) {
      expect(detectTexts(format, `a ${opens}\n${call}\n${closes} b`)).toEqual([[callText], 'a\nb']);
      expect(detectTexts(format, `${opens}${call}`)).toEqual([[callText], '']);
    }
  });

  it.each<[string, string, readonly string[], string]>([
    ['holds several objects', inTag(`${call}\n${call}; ${call}`), [callText, callText, callText], ''],
    ['holds a list', inTag(`[${call}, ${call},]`), [callText, callText], ''],
    ['holds a fence', inTag('\n```json\n' + call + '\n```\n'), [callText], ''],
    ['may be in a fence', '```\n' + inTag(call) + '\n```', [callText], ''],
    ['may be repeated', `<tool_call>\n<tool_call><|tool_call|>${call}</tool_call></tool_call>`, [callText], ''],
    ['may never be closed', `<tool_call>${call}\n<tool_call>${call}`, [callText, callText], ''],
    ['may be closed twice', `${inTag(call)}\n</tool_call>`, [callText], ''],
    ['may be empty', `<tool_call></tool_call>${inTag(call)}`, [callText], '<tool_call></tool_call>'],
    ['takes the name key of any format', inTag('{"tool": "f", "input": {"x": 1}}'), [callText], ''],
    ['takes a function as the name', inTag('{"function": "f", "arguments": {"x": 1}}'), [callText], ''],
    [
      'may hold a closing tag in a string',
      inTag('{"name": "f", "arguments": {"x": "</tool_call>"}}'),
      ['f {"x": "</tool_call>"}'],
      '',
    ],
    ['keeps its valid call after an invalid one', inTag(`${call}, {"n": 1}`), [callText], '{"n": 1}</tool_call>'],
    ['leaves unreadable content in the text', `a ${inTag('nothing')} b`, [], `a ${inTag('nothing')} b`],
    ['with a name takes arguments', '<function=f>{"x": 1}</function><function=g></function>', [callText, 'g {}'], ''],
    ['with a name may be in another tag', inTag('<function=f>{"x": 1}</function>'), [callText], ''],
    ['with a name takes no list', '<function=f>[1]</function>', [], '<function=f>[1]</function>'],
    [
      'is followed by a name',
      'a[TOOL_CALLS]f[ARGS]{"x": 1}[TOOL_CALLS]g[CALL_ID]123456789[ARGS]{}',
      [callText, 'g {}'],
      'a',
    ],
    ['may be followed by a name without [ARGS]', '[TOOL_CALLS]f{"x": 1}', [callText], ''],
    ['comes before bare calls', `${call}\n${inTag('{"name": "g"}')}`, ['g {}'], call],
  ])('%s', (_rule, text, calls, residual) => expect(detectTexts('chatml', text)).toEqual([calls, residual]));

  const invalidBlocks = [
    '{"name": "g", "arguments": {"x": "1}}',
    '{"name": "g", "arguments": {x}}',
    '{"name": 7}',
    '{',
    '"',
    'g()',
  ];
  it.each(invalidBlocks)('with an invalid block does not hide a valid call: %s', (json) => {
    for (const between of ['', '\n', ' and ']) {
      expect(detectTexts('chatml', inTag(json) + between + inTag(call))[0]).toEqual([callText]);
      expect(detectTexts('chatml', inTag(call) + between + inTag(json))[0]).toEqual([callText]);
      expect(detectTexts('chatml', `<tool_call>${json}\n${inTag(call)}`)[0]).toEqual([callText]);
    }
  });
});

describe('a bare call', () => {
  it.each<[string, string, readonly string[], string]>([
    ['may be anywhere', `So: ${call} and ${call}!`, [callText, callText], 'So:\nand\n!'],
    ['may follow another', `${call}; ${call}\n\n${call}`, [callText, callText, callText], ''],
    ['may be in a list', `Both: [${call}, ${call}]`, [callText, callText], 'Both:'],
    ['is no call in a list with data', `Both: [${call}, 1]`, [], `Both: [${call}, 1]`],
    ['is no call in a list with data at the start of the text', `[${call}, {"n": 1}]`, [], `[${call}, {"n": 1}]`],
    ['is no call inside of data', `{"calls": ${call}}`, [], `{"calls": ${call}}`],
    ['is no call inside of invalid JSON', `See {x, ${call}}`, [], `See {x, ${call}}`],
    ['may follow data', `{"n": {"m": [1]}} then ${call}`, [callText], '{"n": {"m": [1]}} then'],
    [
      'may follow brackets in prose',
      `[1] (see {it's "5" or "}"}) :] ${call}`,
      [callText],
      `[1] (see {it's "5" or "}"}) :]`,
    ],
    ['may follow an open bracket in prose', `a [ b { c 5" ${call}`, [callText], 'a [ b { c 5"'],
    [
      'needs its own format’s name key',
      '{"tool": "f", "arguments": {"x": 1}}',
      [],
      '{"tool": "f", "arguments": {"x": 1}}',
    ],
    [
      'is not searched for in a truncated one',
      `Now {"name": "g", "arguments": {"x": ${call}`,
      [],
      `Now {"name": "g", "arguments": {"x": ${call}`,
    ],
    ['is read leniently at the start', "{'name': 'f', 'arguments': {'x': 1,}}\n{'name': 'g'}", [callText, 'g {}'], ''],
    ['is read strictly elsewhere', "So {'name': 'f'}", [], "So {'name': 'f'}"],
    [
      'may hold a tag in a string',
      '{"name": "f", "arguments": {"x": "<function=g>{}"}}',
      ['f {"x": "<function=g>{}"}'],
      '',
    ],
    [
      'may hold half a call in a string',
      '{"name": "f", "arguments": {"x": "<tool_call>{"}}',
      ['f {"x": "<tool_call>{"}'],
      '',
    ],
    [
      'may precede a truncated call in a tag',
      `${call} <tool_call>{'name': 'see ${call}`,
      [callText],
      `<tool_call>{'name': 'see ${call}`,
    ],
    ['may have only a closing tag', `${call}</tool_call>`, [callText], ''],
    ['may be in a tag among prose', `<tool_call>Here: ${call}`, [callText], '<tool_call>Here:'],
  ])('%s', (_rule, text, calls, residual) => expect(detectTexts('chatml', text)).toEqual([calls, residual]));
});

describe('an object', () => {
  const accepted: readonly (readonly [string, string])[] = [
    ['{"name": "f", "args": {"x": 1}}', callText],
    ['{"name": "f", "input": {"x": 1}, "id": "c1", "index": 0, "type": "function"}', callText],
    ['{"id": 1, "type": "function", "function": {"name": "f", "arguments": {"x": 1}}}', callText],
    ['{"function_call": {"name": "f", "arguments": "{\\"x\\": 1}"}}', callText],
    ['{"tool_calls": [{"type": "function", "function": {"name": "f", "arguments": {"x": 1}}}]}', callText],
    ['{"tool_call": {"name": "f"}}', 'f {}'],
    ['{"name": "f", "arguments": null}', 'f {}'],
    ['{"name": "f", "arguments": ""}', 'f {}'],
    ['{"name": "f", "arguments": []}', 'f {}'],
    ['{"name": "f", "arguments": {"type": "object", "colour": "red"}}', 'f {"type": "object", "colour": "red"}'],
    ['{"name": "f", "arguments": {"properties": {"colour": "red"}}}', 'f {"properties": {"colour": "red"}}'],
    ['{"name": "f", "arguments": {"__proto__": {"x": 1}}}', 'f {"__proto__": {"x": 1}}'],
    ['{"name": "f", "arguments": {"x": 9007199254740993.10e-7}}', 'f {"x": 9007199254740993.10e-7}'],
    ['{"name": "f", "arguments": "{\\"id\\": 12345678901234567890}"}', 'f {"id": 12345678901234567890}'],
  ];
  it.each(accepted)('is a call: %s', (json, expected) => {
    for (const text of [json, inTag(json)]) expect(detectTexts('chatml', text)).toEqual([[expected], '']);
  });

  it.each([
    '{"name": ""}',
    '{"name": null, "arguments": {}}',
    '{"arguments": {"x": 1}}',
    '{"name": "Ada", "age": 41}',
    '{"name": "f", "arguments": {}, "parameters": {}}',
    '{"name": "f", "description": "d"}',
    '{"name": "f", "description": "d", "parameters": {"x": 1}}',
    '{"name": "f", "parameters": {"type": "object", "properties": {}}}',
    '{"name": "f", "parameters": {"properties": {"x": {"type": "string"}}, "required": ["x"]}}',
    '{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}',
    '{"name": "f", "arguments": [1]}',
    '{"name": "f", "arguments": 1}',
    '{"name": "f", "arguments": "x"}',
    '{"name": "f", "arguments": "{} {}"}',
    '{"name": "f", "arguments": "\\"{}\\""}',
    '{"role": "assistant", "tool_calls": [{"name": "f"}]}',
    '{"tool_calls": []}',
    '{"tool_calls": [{"name": "f"}, {"n": 1}]}',
    '{"response": {"name": "f", "arguments": {}}}',
  ])('is no call: %s', (json) => {
    for (const text of [json, inTag(json), `So: ${json}`]) expect(detectTexts('chatml', text)).toEqual([[], text]);
  });
});

describe('lenient parsing', () => {
  const repaired: readonly (readonly [string, string])[] = [
    [`{'name': "f", 'arguments': {'x': 'it\\'s "a"'}}`, 'f {"x": "it\'s \\"a\\""}'],
    ['{"name": "f", "arguments": {"x": [True, False, None]}}', 'f {"x": [true, false, null]}'],
    ['{"name": "f", "arguments": {"x": [1, ], }, }', 'f {"x": [1]}'],
    ['{"name": "f", "arguments": {"x": "a\n\tb"}}', 'f {"x": "a\\n\\tb"}'],
    ['{"name": "f", "arguments": {"x": [1', 'f {"x": [1]}'],
    ['{"name": "f", "arguments": "{\'x\': 1}"}', callText],
  ];
  it.each(repaired)('accepts %j', (json, expected) => {
    const { calls, residual } = detect('chatml', inTag(json));
    expect([calls.map(formatCall), residual, calls[0]?.repaired]).toEqual([[expected], '', true]);
    expect(detectTexts('chatml', `So: ${json}`)[0]).toEqual([]);
  });

  it.each([
    '{"name": "f", "arguments": {"x": {"y": [1',
    '{name: "f"}',
    '{"name": "f" "arguments": {}}',
    '{"name": "f", "arguments": {"x": tRUE}}',
    '{"name": "f", "arguments": {"x": 01}}',
    '{"name": "f", "arguments": {"x": "\\q"}}',
    '{"name": "f", "arguments": {,}}',
    '{"name": "f", "arguments": {"x": 1,,}}',
  ])('rejects %s', (json) => expect(detectTexts('chatml', inTag(json))).toEqual([[], inTag(json)]));

  it('is used only when strict parsing fails', () => {
    expect(detect('chatml', inTag(call)).calls[0]).toEqual({
      name: 'f',
      arguments: expect.any(Map),
      raw: call,
      repaired: false,
    });
  });

  it('excludes added brackets and trailing space from the raw text', () => {
    expect(detect('chatml', '<tool_call>\n{"name": "f"\n</tool_call>').calls[0]?.raw).toBe('{"name": "f"');
  });
});

describe('the residual text', () => {
  it.each<[string, string, string]>([
    ['is trimmed', '  hello \n', 'hello'],
    ['has no end tokens', 'hello<|im_end|>\n<|endoftext|>', 'hello'],
    ['has a line for each piece', `\n a\n\n${inTag(call)} \n b\n${inTag(call)}, c`, 'a\nb\n, c'],
    ['has no separators between calls', `${inTag(call)},\n${inTag(call)};\n${inTag(call)}`, ''],
    ['has no repeated arguments', `${inTag(call)}\n{"x":1}`, ''],
    ['has no repeated arguments in a fence', `${inTag(call)}\n\`\`\`json\n{"x": 1}\n\`\`\``, ''],
    ['keeps other JSON', `${inTag(call)}\n{"x": 2}`, '{"x": 2}'],
    [
      'keeps a fence that holds no call',
      'a\n```js\nb()\n```\n' + inTag(call) + '\n```\nc\n```',
      'a\n```js\nb()\n```\n```\nc\n```',
    ],
    ['keeps reasoning', `<think>a</think>${inTag(call)}`, '<think>a</think>'],
    [
      'keeps the text before a truncated call',
      `a ${inTag(call)} <tool_call>{"name": "g", "argum`,
      'a\n<tool_call>{"name": "g", "argum',
    ],
  ])('%s', (_rule, text, residual) => expect(detect('chatml', text).residual).toBe(residual));
});

describe('backticks', () => {
  it.each<[string, string, readonly string[]]>([
    ['quote a tag', `So \`${inTag(call)}\` it is.`, []],
    ['quote a bare call', `So \`${call}\` it is.`, []],
    ['quote in pairs too', `So \`\`${call}\`\` it is.`, []],
    ['quote over lines', `So \`<tool_call>\n${call}\n</tool_call>\` it is.`, []],
    ['quote up to the end of a truncated text', `So \`${inTag(call)}`, []],
    ['quote words before and after a call', `Calling \`f\` now: ${inTag(call)} with \`x\`.`, [callText]],
    ['quote nothing when three open a fence', '```\n' + call + '\n```', [callText]],
    ['quote nothing when unpaired in prose', `The \` key.\n\n${inTag(call)}`, [callText]],
    ['are text in an argument', inTag('{"name": "f", "arguments": {"x": "`a` and `"}}'), ['f {"x": "`a` and `"}']],
  ])('%s', (_rule, text, calls) => expect(detectTexts('chatml', text)[0]).toEqual(calls));
});

describe('a truncated text', () => {
  it.each([
    '<tool_call>',
    '<tool_call>\n{',
    '<tool_call>[',
    '<tool_call>{"name": "f", "arguments": {"x": tr',
    `<tool_call>{'name': 'f`,
    `[TOOL_CALLS] [${call}, {"na`,
    '[TOOL_CALLS]get_ti',
    '[TOOL_CALLS]get_tide[AR',
    '[TOOL_CALLS]get_tide[ARGS]{"port": "O',
    '<function=f>',
    '<function=f>{"x": "\\u00',
    '{"name": "f',
    `So:\n{\n  "name": "f"`,
    `{'name': 'f`,
  ])('is reported as truncated: %s', (text) => expect(detect('chatml', text).truncated).toBe(true));

  it.each([
    '',
    'hello',
    inTag(call),
    `<tool_call>${call}`,
    `<tool_call>${call}</tool_`,
    `[TOOL_CALLS] [${call}`,
    'a { b',
    '[1',
    '<think>{"',
  ])('is not reported as truncated: %s', (text) => expect(detect('chatml', text).truncated).toBe(false));

  const trickyTexts = [
    '{"name": "f", "tool": "f", "parameters": {"x": "write <function=g>{}</function> or [TOOL_CALLS]g[ARGS]{} here"}}',
    '{"name": "f", "parameters": {"x": "write <function=g>{}</function> or [TOOL_CALLS]g[ARGS]{} here"}}',
    `{'tool': 'f', 'args': {'x': 'write <function=g>{}</function> or <tool_call>{"name": "g"}</tool_call> here'}}`,
    '<tool_call>{"name": "f", "arguments": {"x": "see <function=g>{}</function> and {\'name\': \'g\'} or {} "}}</tool_call>',
    `<tool_call>{'name': 'f', 'arguments': {'x': 'see <function=g>{}</function> and {"name": "g"} or {} '}}</tool_call>`,
    `{'name': 'f', 'tool': 'f', 'parameters': {'x': 'see {"name": "g"} and {"tool": "g"} or {} '}}`,
    '{"name": "f", "parameters": {"x": "a\\n{\\"name\\": \\"g\\"}\\n", "y": [{"name": "g"}, {"tool": "g"}]}}',
    'So: [{"name": "f", "parameters": {"x": "[TOOL_CALLS]g[ARGS]{}"}}, {"name": "g", "parameters": {}}]',
    '[TOOL_CALLS]f[ARGS]{"x": "<tool_call>"}[TOOL_CALLS]g[ARGS]{"x": "`"}',
    `Write \`${inTag(call)}\` or \`${call}\` to call it.`,
  ];
  const allTexts = [
    ...firstReplies.filter(({ expect: { calls } }) => calls.length > 0).map(({ text }) => text),
    ...corpus,
    ...trickyTexts,
  ];

  it.each([...formats.keys()])('contains no call that the whole text does not contain: %s', (format) => {
    for (const text of allTexts) {
      const allCalls = detect(format, text).calls.map(formatCall);
      // A long text is truncated at about 50 offsets, or 25.
      const step = Math.ceil(text.length / (isWhole ? 50 : 25));
      for (let end = 0; end < text.length; end += step) {
        const calls = detect(format, text.slice(0, end)).calls.map(formatCall);
        if (calls.some((testCase, index) => testCase !== allCalls[index]))
          expect.fail(`${calls.join()} in ${text.slice(0, end)}`);
      }
    }
  });
});

describe('detection', () => {
  it('detects only valid calls in corrupted outputs', () => {
    expect(fuzzTarget({ formats, stringifyJson }, { count: scaled(1200), seed: 7 }).calls).toBeGreaterThan(scaled(300));
  });

  it('accepts values nested 64 levels deep, and rejects deeper ones without recursion', () => {
    const nested = (depth: number): string =>
      `{"name": "f", "arguments": {"x": ${'['.repeat(depth)}${']'.repeat(depth)}}}`;
    expect(detect('chatml', inTag(nested(62))).calls).toHaveLength(1);
    expect(detect('chatml', inTag(nested(63))).calls).toHaveLength(0);
    expect(detect('chatml', nested(20_000)).calls).toHaveLength(0);
  });

  const repeatedUnits = [
    '{',
    '[',
    '"',
    "'",
    '`',
    '\\',
    ' ',
    '}',
    '` ',
    '{"a":"',
    '{"name":',
    '[1,',
    '{"a":"\\',
    '["\\"',
    '{"name":"f"},',
    '<think>',
    '</think>',
    '<tool_call>',
    '<tool_call>{',
    '<tool_call>[',
    '<tool_call>{"name":"f"}',
    '</s>',
    '<tool_call>{"name": "x", "arguments": {"a": "',
    "<tool_call>{'",
    '<function=a>',
    '<function=',
    '```json\n',
    '[TOOL_CALLS]a',
    '[TOOL_CALLS]a[ARGS]{"',
    '<tool_call>{"a": "</tool_call>',
    "<tool_call>{'</tool_call>\n",
  ];
  it.each(repeatedUnits)('takes linear time for repeated %j', async (unit) => {
    // Deeper than values may be nested, also in the short one.
    const count = Math.max(150, Math.ceil(scaled(500) / unit.length));
    for (const start of ['', '<tool_call>{"a": "', "<tool_call>{'a': '", '[[[['])
      await expectLinearTime((times) => detect('chatml', start + unit.repeat(times * count)));
  });
});
