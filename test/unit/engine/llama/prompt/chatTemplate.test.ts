import { compileTemplate } from '../../../../../src/engine/llama/prompt/jinja.ts';
import { describe, expect, it } from 'vitest';
import type { Message } from '../../../../../src/dialog.ts';
import { detectToolFormat } from '../../../../../src/engine/llama/tokenizer/detectToolFormat.ts';
import { strftimeAt } from '../../../../../src/engine/llama/prompt/jinja.ts';
import { probeChatTemplate } from '../../../../../src/engine/llama/prompt/chatTemplate.ts';

const ends = { bos: '<s>', eos: '</s>' };
const system = (text: string): Message => ({ role: 'system', text });
const user = (text: string): Message => ({ role: 'user', text });
const assistant = (text: string): Message => ({ role: 'assistant', text });

const each = (body: string): string => `{% for message in messages %}${body}{% endfor %}`;
const plain = each("[{{ message['role'] }}]{{ message['content'] }}");
const onlyFirstSystem =
  "{% if messages[0]['role'] == 'system' %}<<{{ messages[0]['content'] }}>>{% endif %}" +
  each("{% if message['role'] != 'system' %}[{{ message['role'] }}]{{ message['content'] }}{% endif %}");
const noSystem = each(
  "{% if message['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}[{{ message['role'] }}]{{ message['content'] }}",
);
const strict = each(
  "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('take turns') }}{% endif %}" +
    "[{{ message['role'] }}]{{ message['content'] }}",
);

const talk = [system('S'), user('U'), assistant('A'), system('T'), user('V')];

function written(source: string | undefined, messages: readonly Message[]): string {
  const chatTemplate = probeChatTemplate(source, ends);
  return chatTemplate.render(chatTemplate.normalizeMessages(messages));
}

describe('a chat template', () => {
  it.each([
    ['takes all roles anywhere', plain, '[system]S[user]U[assistant]A[system]T[user]V'],
    ['takes a system message only at the start', onlyFirstSystem, '<<S>>[user]U[assistant]A[user]T\n\nV'],
    ['takes no system message', noSystem, '[user]S\n\nU[assistant]A[user]T\n\nV'],
    ['wants the roles to take turns', strict, '[user]S\n\nU[assistant]A[user]T\n\nV'],
  ])('that %s gets what it takes', (_, source, expected) => {
    expect(written(source, talk)).toBe(expected);
  });

  it('that wants the user to begin gets an empty message before an answer', () => {
    expect(written(strict, [assistant('A'), user('U')])).toBe('[user][assistant]A[user]U');
  });

  it('says which messages it does not take', () => {
    expect(probeChatTemplate(plain, ends).notes).toEqual([]);
    expect(probeChatTemplate(onlyFirstSystem, ends).notes).toEqual([
      expect.stringContaining('a system message only at the start'),
    ]);
    expect(probeChatTemplate(noSystem, ends).notes).toEqual([expect.stringContaining('no system message')]);
  });

  it('knows the special tokens, and that an answer is wanted', () => {
    const source = `{{ bos_token }}${plain}{{ eos_token }}{% if add_generation_prompt %}[assistant]{% endif %}`;
    expect(written(source, [user('U')])).toBe('<s>[user]U</s>[assistant]');
  });

  it('has no clock where it can do without, and else one that stands still', () => {
    const pinned = `{% if strftime_now is defined %}{{ strftime_now('%d %b %Y') }}{% else %}26 Jul{% endif %}${plain}`;
    expect(written(pinned, [user('U')])).toBe('26 Jul[user]U');
    expect(written(`{{ strftime_now('%Y') }}${plain}`, [user('U')])).toMatch(/^\d{4}\[user\]U$/);
    const clock = strftimeAt(new Date(2026, 0, 2, 3, 4, 5));
    expect(clock('%A %a %d %B %b %m %Y %H:%M:%S')).toBe('Friday Fri 02 January Jan 01 2026 03:04:05');
  });

  it.each([
    ['writes them', `{% if tools %}{{ tools | tojson }}{% endif %}${plain}`, true],
    ['does not', plain, false],
    ['wants none', `{% if tools %}{{ raise_exception('no tools') }}{% endif %}${plain}`, false],
    ['leaves the message out for them', `{% if tools %}{{ tools | tojson }}{% else %}${plain}{% endif %}`, false],
    ['does not work', '{% if %}', false],
  ])('knows tools if it %s: %s', (_, source, knows) => {
    expect(probeChatTemplate(source, ends).supportsTools).toBe(knows);
  });

  it('gets no list of tools when there are none, and else their JSON as Jinja writes it', () => {
    const parameters = { type: 'object', properties: { b: { enum: ['ü"', 1.5, null] }, a: {} }, required: [] };
    const tool = { type: 'function', function: { name: 'f', description: 'd', parameters } } as const;
    const render = (source: string) => probeChatTemplate(source + plain, ends).render([user('U')], [tool]);
    expect(written(`{{ tools is none }}${plain}`, [user('U')])).toBe('true[user]U');
    expect(render('{{ tools[0].function | tojson }}')).toBe(
      '{"name": "f", "description": "d", "parameters": {"type": "object", "properties": {"b": {"enum": ["ü\\"", 1.5, null]}, "a": {}}, "required": []}}[user]U',
    );
    expect(render('{{ tools[0].function.parameters.properties | tojson(indent=2) }}')).toBe(
      '{\n  "b": {\n    "enum": [\n      "ü\\"",\n      1.5,\n      null\n    ]\n  },\n  "a": {}\n}[user]U',
    );
  });

  it('gets calls and results one by one', () => {
    const messages: readonly Message[] = [
      user('U'),
      {
        role: 'assistant',
        text: 'our wording',
        toolExchange: { kind: 'calls', text: 'A', calls: [{ id: '1', name: 'f', arguments: { x: 2 } }] },
      },
      { role: 'user', text: 'our wording', toolExchange: { kind: 'result', callId: '1', name: 'f', content: 'R' } },
      { role: 'user', text: 'our wording', toolExchange: { kind: 'result', callId: '2', name: 'f', content: 'S' } },
      user('V'),
      user('W'),
    ];
    const source = each(
      "{% if message.role == 'user' and loop.previtem.role == 'user' %}{{ raise_exception('take turns') }}{% endif %}" +
        '[{{ message.role }}]{{ message.content }}' +
        '{% for call in message.tool_calls or [] %}({{ call.function | tojson }}){% endfor %}',
    );
    expect(written(source, messages)).toBe(
      '[user]U[assistant]A({"name": "f", "arguments": {"x": 2}})[tool]R[tool]S[user]V\n\nW',
    );
  });

  it.each([
    ['is absent', undefined, 'has no chat template'],
    ['does not parse', '{% if %}', 'does not work'],
    ['fails', "{{ raise_exception('never') }}", 'never'],
    ['leaves the message out', 'Hello!', "leaves the user's message out"],
  ])('that %s gives way to ChatML, and that is said', (_, source, why) => {
    expect(written(source, [system('S'), user('U')])).toMatchInlineSnapshot(`
      "<|im_start|>system
      S<|im_end|>
      <|im_start|>user
      U<|im_end|>
      <|im_start|>assistant
      "
    `);
    const { notes } = probeChatTemplate(source, ends);
    expect(notes).toEqual([expect.stringContaining(why)]);
    expect(notes[0]).toContain('ChatML');
  });
});

describe('the tool-call format of a model', () => {
  const words = (...known: readonly string[]) => ({ has: (spelling: string): boolean => known.includes(spelling) });

  it.each([
    ['chatml', '... <tool_call> ...', words()],
    ['mistral', "... '[TOOL_CALLS]' ...", words()],
    ['mistral', plain, words('[TOOL_CALLS]')],
    ['llama3', '<|start_header_id|> ... {"name": f, "parameters": p}', words()],
    [undefined, '<|start_header_id|>', words()],
    [undefined, plain, words('<tool_call>')],
  ])('is %s by the marks of its template', (format, template, tokenizer) => {
    expect(detectToolFormat(template, tokenizer)).toBe(format);
  });
});

describe('whether a model may reason aloud', () => {
  const template =
    '{% for m in messages %}{{ m.content }}{% endfor %}{% if enable_thinking is defined %}{{ enable_thinking }}{% endif %}';
  const ask = [{ role: 'user', text: 'Q' }] as const;

  it.each([
    [undefined, 'Q'],
    [true, 'Qtrue'],
    [false, 'Qfalse'],
  ])('is told to its template only where something was said about it: %s', (thinking, expected) => {
    expect(compileTemplate(template, { bos: '', eos: '' })(ask, undefined, thinking).toLowerCase()).toBe(
      expected.toLowerCase(),
    );
  });
});
