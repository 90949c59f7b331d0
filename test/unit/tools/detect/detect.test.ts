import { describe, expect, it } from 'vitest';
import { fuzzTarget, corpus } from '../../../../scripts/fuzz/detect.mjs';
import { formats } from '../../../../src/tools/formats/index.ts';
import type { DetectedCall, Detection } from '../../../../src/tools/tool.ts';
import { stringifyJson } from '../../../../src/tools/json/value.ts';
import moreCases from '../../../fixtures/cases/tool-calls-more.json' with { type: 'json' };
import cases from '../../../fixtures/cases/tool-calls.json' with { type: 'json' };

function detect(format: string, text: string): Detection {
  const found = formats.get(format);
  if (found === undefined) throw new Error(`no format is called "${format}"`);
  return found.detect(text);
}

const written = ({ name, arguments: given }: DetectedCall): string => `${name} ${stringifyJson(given)}`;

/** What is found in a text: the calls, then the text that remains. */
const seen = (format: string, text: string): readonly [readonly string[], string] => {
  const { calls, residual } = detect(format, text);
  return [calls.map(written), residual];
};

const call = '{"name": "f", "arguments": {"x": 1}}';
const f = 'f {"x": 1}';
const tagged = (json: string): string => `<tool_call>${json}</tool_call>`;

function readsAsExpected({ format, text, expect: expected }: (typeof cases | typeof moreCases)[number]): void {
  const { calls, residual } = detect(format, text);
  expect(calls.map(({ name, arguments: given }) => ({ name, arguments: JSON.parse(stringifyJson(given)) }))).toEqual(
    expected.calls,
  );
  expect(residual).toBe(expected.residual);
  for (const { raw, arguments: given } of calls) {
    expect(text).toContain(raw);
    // A test in JSON cannot say a long number: its digits must stand in the call as written.
    for (const digits of stringifyJson(given).match(/\d{16,}/g) ?? []) expect(raw).toContain(digits);
  }
}

describe('the collected outputs', () => {
  it.each(cases.map((one) => [one.id, one.class, one] as const))('read %s as expected: %s', (_id, _kind, one) =>
    readsAsExpected(one),
  );
});

describe('the second collection', () => {
  it.each(moreCases.map((one) => [one.id, one.class, one] as const))('reads %s as expected: %s', (_id, _kind, one) =>
    readsAsExpected(one),
  );

  it('has no id twice, nor one of the first', () => {
    const ids = [...cases, ...moreCases].map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('reasoning', () => {
  it.each<[string, string, readonly string[]]>([
    ['hides a call', `<think>${tagged(call)}</think>`, []],
    ['hides a bare call', `<think>${call}</think>\nThe answer is four.`, []],
    ['hides the rest when it never ends', `${tagged(call)}<think>${tagged(call)}`, [f]],
    ['hides what precedes a lone closing tag', `hm ${tagged('{"name": "g"}')}</think>${tagged(call)}`, [f]],
    ['hides what precedes the last of several closing tags', `${call}</think>${call}[/THINK]${tagged(call)}`, [f]],
    ['does not hide a call between two of its blocks', `<think>a</think>${tagged(call)}[THINK]b[/THINK]`, [f]],
    [
      'is text where it stands in an argument',
      tagged('{"name": "f", "arguments": {"x": "<think>"}}'),
      ['f {"x": "<think>"}'],
    ],
    ['is passed over on the way to a call that starts the text', `<think>a</think>\n{'name': 'f'}`, ['f {}']],
  ])('%s', (_rule, text, calls) => expect(seen('chatml', text)[0]).toEqual(calls));
});

describe('a tag', () => {
  it.each([
    ['<tool_call>', '</tool_call>'],
    ['<|tool_call|>', '<|/tool_call|>'],
    ['<function_call>', '</function_call>'],
    ['[TOOL_CALLS]', '[/TOOL_CALLS]'],
    ['<|python_tag|>', '<|eom_id|>'],
  ])('%s counts in every format', (opens, closes) => {
    for (const format of formats.keys()) {
      expect(seen(format, `a ${opens}\n${call}\n${closes} b`)).toEqual([[f], 'a\nb']);
      expect(seen(format, `${opens}${call}`)).toEqual([[f], '']);
    }
  });

  it.each<[string, string, readonly string[], string]>([
    ['holds several objects', tagged(`${call}\n${call}; ${call}`), [f, f, f], ''],
    ['holds a list', tagged(`[${call}, ${call},]`), [f, f], ''],
    ['holds a fence', tagged('\n```json\n' + call + '\n```\n'), [f], ''],
    ['may stand in a fence', '```\n' + tagged(call) + '\n```', [f], ''],
    ['may be repeated', `<tool_call>\n<tool_call><|tool_call|>${call}</tool_call></tool_call>`, [f], ''],
    ['may never be closed', `<tool_call>${call}\n<tool_call>${call}`, [f, f], ''],
    ['may be closed twice', `${tagged(call)}\n</tool_call>`, [f], ''],
    ['may be empty', `<tool_call></tool_call>${tagged(call)}`, [f], '<tool_call></tool_call>'],
    ['takes the name key of any format', tagged('{"tool": "f", "input": {"x": 1}}'), [f], ''],
    ['takes a function as the name', tagged('{"function": "f", "arguments": {"x": 1}}'), [f], ''],
    [
      'may hold a closing tag in a string',
      tagged('{"name": "f", "arguments": {"x": "</tool_call>"}}'),
      ['f {"x": "</tool_call>"}'],
      '',
    ],
    ['keeps its good call beside a bad one', tagged(`${call}, {"n": 1}`), [f], '{"n": 1}</tool_call>'],
    ['keeps what it cannot read in the text', `a ${tagged('nothing')} b`, [], `a ${tagged('nothing')} b`],
    ['with a name takes arguments', '<function=f>{"x": 1}</function><function=g></function>', [f, 'g {}'], ''],
    ['with a name may stand in another tag', tagged('<function=f>{"x": 1}</function>'), [f], ''],
    ['with a name takes no list', '<function=f>[1]</function>', [], '<function=f>[1]</function>'],
    ['is followed by a name', 'a[TOOL_CALLS]f[ARGS]{"x": 1}[TOOL_CALLS]g[CALL_ID]123456789[ARGS]{}', [f, 'g {}'], 'a'],
    ['is followed by a name without a mark', '[TOOL_CALLS]f{"x": 1}', [f], ''],
    ['comes before bare calls', `${call}\n${tagged('{"name": "g"}')}`, ['g {}'], call],
  ])('%s', (_rule, text, calls, residual) => expect(seen('chatml', text)).toEqual([calls, residual]));

  const bad = [
    '{"name": "g", "arguments": {"x": "1}}',
    '{"name": "g", "arguments": {x}}',
    '{"name": 7}',
    '{',
    '"',
    'g()',
  ];
  it.each(bad)('whose block is bad costs no good one: %s', (json) => {
    for (const between of ['', '\n', ' and ']) {
      expect(seen('chatml', tagged(json) + between + tagged(call))[0]).toEqual([f]);
      expect(seen('chatml', tagged(call) + between + tagged(json))[0]).toEqual([f]);
      expect(seen('chatml', `<tool_call>${json}\n${tagged(call)}`)[0]).toEqual([f]);
    }
  });
});

describe('a bare call', () => {
  it.each<[string, string, readonly string[], string]>([
    ['stands anywhere', `So: ${call} and ${call}!`, [f, f], 'So:\nand\n!'],
    ['follows another', `${call}; ${call}\n\n${call}`, [f, f, f], ''],
    ['stands in a list', `Both: [${call}, ${call}]`, [f, f], 'Both:'],
    ['counts in no list with data', `Both: [${call}, 1]`, [], `Both: [${call}, 1]`],
    ['counts in no list with data that starts the text', `[${call}, {"n": 1}]`, [], `[${call}, {"n": 1}]`],
    ['counts not inside of data', `{"calls": ${call}}`, [], `{"calls": ${call}}`],
    ['counts not inside of what is no JSON', `See {x, ${call}}`, [], `See {x, ${call}}`],
    ['follows data', `{"n": {"m": [1]}} then ${call}`, [f], '{"n": {"m": [1]}} then'],
    ['follows brackets in prose', `[1] (see {it's "5" or "}"}) :] ${call}`, [f], `[1] (see {it's "5" or "}"}) :]`],
    ['follows an open bracket in prose', `a [ b { c 5" ${call}`, [f], 'a [ b { c 5"'],
    [
      'needs its own format’s name key',
      '{"tool": "f", "arguments": {"x": 1}}',
      [],
      '{"tool": "f", "arguments": {"x": 1}}',
    ],
    [
      'is not looked for in one that is cut off',
      `Now {"name": "g", "arguments": {"x": ${call}`,
      [],
      `Now {"name": "g", "arguments": {"x": ${call}`,
    ],
    ['is read leniently at the start', "{'name': 'f', 'arguments': {'x': 1,}}\n{'name': 'g'}", [f, 'g {}'], ''],
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
      'may precede a call in a tag that is cut off',
      `${call} <tool_call>{'name': 'see ${call}`,
      [f],
      `<tool_call>{'name': 'see ${call}`,
    ],
    ['may have lost its tag but not the closing one', `${call}</tool_call>`, [f], ''],
    ['may stand in a tag among prose', `<tool_call>Here: ${call}`, [f], '<tool_call>Here:'],
  ])('%s', (_rule, text, calls, residual) => expect(seen('chatml', text)).toEqual([calls, residual]));
});

describe('the shape of a call', () => {
  const accepted: readonly (readonly [string, string])[] = [
    ['{"name": "f", "args": {"x": 1}}', f],
    ['{"name": "f", "input": {"x": 1}, "id": "c1", "index": 0, "type": "function"}', f],
    ['{"id": 1, "type": "function", "function": {"name": "f", "arguments": {"x": 1}}}', f],
    ['{"function_call": {"name": "f", "arguments": "{\\"x\\": 1}"}}', f],
    ['{"tool_calls": [{"type": "function", "function": {"name": "f", "arguments": {"x": 1}}}]}', f],
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
  it.each(accepted)('is that of %s', (json, expected) => {
    for (const text of [json, tagged(json)]) expect(seen('chatml', text)).toEqual([[expected], '']);
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
  ])('is not that of %s', (json) => {
    for (const text of [json, tagged(json), `So: ${json}`]) expect(seen('chatml', text)).toEqual([[], text]);
  });
});

describe('a lenient reading', () => {
  const repaired: readonly (readonly [string, string])[] = [
    [`{'name': "f", 'arguments': {'x': 'it\\'s "a"'}}`, 'f {"x": "it\'s \\"a\\""}'],
    ['{"name": "f", "arguments": {"x": [True, False, None]}}', 'f {"x": [true, false, null]}'],
    ['{"name": "f", "arguments": {"x": [1, ], }, }', 'f {"x": [1]}'],
    ['{"name": "f", "arguments": {"x": "a\n\tb"}}', 'f {"x": "a\\n\\tb"}'],
    ['{"name": "f", "arguments": {"x": [1', 'f {"x": [1]}'],
    ['{"name": "f", "arguments": "{\'x\': 1}"}', f],
  ];
  it.each(repaired)('takes %j', (json, expected) => {
    const { calls, residual } = detect('chatml', tagged(json));
    expect([calls.map(written), residual, calls[0]?.repaired]).toEqual([[expected], '', true]);
    expect(seen('chatml', `So: ${json}`)[0]).toEqual([]);
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
  ])('refuses %s', (json) => expect(seen('chatml', tagged(json))).toEqual([[], tagged(json)]));

  it('is tried only where the strict one fails', () => {
    expect(detect('chatml', tagged(call)).calls[0]).toEqual({
      name: 'f',
      arguments: expect.any(Map),
      raw: call,
      repaired: false,
    });
  });

  it('leaves the missing closers and the space before the closing tag out of the piece', () => {
    expect(detect('chatml', '<tool_call>\n{"name": "f"\n</tool_call>').calls[0]?.raw).toBe('{"name": "f"');
  });
});

describe('the text that remains', () => {
  it.each<[string, string, string]>([
    ['is trimmed', '  hello \n', 'hello'],
    ['has no end tokens', 'hello<|im_end|>\n<|endoftext|>', 'hello'],
    ['has a line for each piece', `\n a\n\n${tagged(call)} \n b\n${tagged(call)}, c`, 'a\nb\n, c'],
    ['has no separators between calls', `${tagged(call)},\n${tagged(call)};\n${tagged(call)}`, ''],
    ['has no arguments said again', `${tagged(call)}\n{"x":1}`, ''],
    ['has no arguments said again in a fence', `${tagged(call)}\n\`\`\`json\n{"x": 1}\n\`\`\``, ''],
    ['keeps other JSON', `${tagged(call)}\n{"x": 2}`, '{"x": 2}'],
    [
      'keeps a fence that holds no call',
      'a\n```js\nb()\n```\n' + tagged(call) + '\n```\nc\n```',
      'a\n```js\nb()\n```\n```\nc\n```',
    ],
    ['keeps reasoning', `<think>a</think>${tagged(call)}`, '<think>a</think>'],
    [
      'keeps what precedes a call that is cut off',
      `a ${tagged(call)} <tool_call>{"name": "g", "argum`,
      'a\n<tool_call>{"name": "g", "argum',
    ],
  ])('%s', (_rule, text, residual) => expect(detect('chatml', text).residual).toBe(residual));
});

describe('backticks', () => {
  it.each<[string, string, readonly string[]]>([
    ['quote a tag', `So \`${tagged(call)}\` it is.`, []],
    ['quote a bare call', `So \`${call}\` it is.`, []],
    ['quote in pairs too', `So \`\`${call}\`\` it is.`, []],
    ['quote over lines', `So \`<tool_call>\n${call}\n</tool_call>\` it is.`, []],
    ['quote up to where the text is cut off', `So \`${tagged(call)}`, []],
    ['quote words beside a call', `Calling \`f\` now: ${tagged(call)} with \`x\`.`, [f]],
    ['quote nothing when three open a fence', '```\n' + call + '\n```', [f]],
    ['quote nothing when lost in prose', `The \` key.\n\n${tagged(call)}`, [f]],
    ['are text in an argument', tagged('{"name": "f", "arguments": {"x": "`a` and `"}}'), ['f {"x": "`a` and `"}']],
  ])('%s', (_rule, text, calls) => expect(seen('chatml', text)[0]).toEqual(calls));
});

describe('a text that is cut off', () => {
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
  ])('is truncated: %s', (text) => expect(detect('chatml', text).truncated).toBe(true));

  it.each([
    '',
    'hello',
    tagged(call),
    `<tool_call>${call}`,
    `<tool_call>${call}</tool_`,
    `[TOOL_CALLS] [${call}`,
    'a { b',
    '[1',
    '<think>{"',
  ])('is not truncated: %s', (text) => expect(detect('chatml', text).truncated).toBe(false));

  const hard = [
    '{"name": "f", "tool": "f", "parameters": {"x": "write <function=g>{}</function> or [TOOL_CALLS]g[ARGS]{} here"}}',
    '{"name": "f", "parameters": {"x": "write <function=g>{}</function> or [TOOL_CALLS]g[ARGS]{} here"}}',
    `{'tool': 'f', 'args': {'x': 'write <function=g>{}</function> or <tool_call>{"name": "g"}</tool_call> here'}}`,
    '<tool_call>{"name": "f", "arguments": {"x": "see <function=g>{}</function> and {\'name\': \'g\'} or {} "}}</tool_call>',
    `<tool_call>{'name': 'f', 'arguments': {'x': 'see <function=g>{}</function> and {"name": "g"} or {} '}}</tool_call>`,
    `{'name': 'f', 'tool': 'f', 'parameters': {'x': 'see {"name": "g"} and {"tool": "g"} or {} '}}`,
    '{"name": "f", "parameters": {"x": "a\\n{\\"name\\": \\"g\\"}\\n", "y": [{"name": "g"}, {"tool": "g"}]}}',
    'So: [{"name": "f", "parameters": {"x": "[TOOL_CALLS]g[ARGS]{}"}}, {"name": "g", "parameters": {}}]',
    '[TOOL_CALLS]f[ARGS]{"x": "<tool_call>"}[TOOL_CALLS]g[ARGS]{"x": "`"}',
    `Write \`${tagged(call)}\` or \`${call}\` to call it.`,
  ];
  const whole = [
    ...cases.filter(({ expect: { calls } }) => calls.length > 0).map(({ text }) => text),
    ...corpus,
    ...hard,
  ];

  it.each([...formats.keys()])('says no call that the whole one does not say: %s', (format) => {
    for (const text of whole) {
      const full = detect(format, text).calls.map(written);
      // One long string is cut in a thousand places that are all alike.
      const step = Math.ceil(text.length / 500);
      for (let end = 0; end < text.length; end += step) {
        const calls = detect(format, text.slice(0, end)).calls.map(written);
        if (calls.some((one, index) => one !== full[index])) expect.fail(`${calls.join()} in ${text.slice(0, end)}`);
      }
    }
  });
});

describe('detection', () => {
  it('survives 2000 spoilt outputs, and every call it finds is one', () => {
    expect(fuzzTarget({ formats, stringifyJson }, { count: 2000, seed: 7 }).calls).toBeGreaterThan(500);
  });

  it('reads values nested 64 deep, and refuses deeper ones without using the stack', () => {
    const nested = (depth: number): string =>
      `{"name": "f", "arguments": {"x": ${'['.repeat(depth)}${']'.repeat(depth)}}}`;
    expect(detect('chatml', tagged(nested(62))).calls).toHaveLength(1);
    expect(detect('chatml', tagged(nested(63))).calls).toHaveLength(0);
    expect(detect('chatml', nested(1_000_000)).calls).toHaveLength(0);
  });

  const storms = [
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
  it.each(storms)('takes time in proportion to the length of a text of %j', (unit) => {
    for (const start of ['', '<tool_call>{"a": "', "<tool_call>{'a': '", '[[[[']) {
      const [short, long] = [start + unit.repeat(2_000), start + unit.repeat(16_000)];
      // The same length in one takes eight times as long as in eight where time is quadratic.
      let [one, eight] = [Infinity, Infinity];
      for (let tries = 0; tries < 20 && !(one < 4 * eight); tries++) {
        one = Math.min(one, timeOf(long, 1));
        eight = Math.min(eight, timeOf(short, 8));
      }
      expect(one).toBeLessThan(4 * eight);
    }
  });
});

/** Milliseconds in which a text is looked through so many times. */
function timeOf(text: string, times: number): number {
  const start = performance.now();
  for (let time = 0; time < times; time++) detect('chatml', text);
  return performance.now() - start;
}
