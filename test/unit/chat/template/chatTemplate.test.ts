import { describe, expect, it } from 'vitest';
import type { Message } from '../../../../src/chat/dialog.ts';
import { clockAt } from '../../../../src/chat/template/compileTemplate.ts';
import { probeChatTemplate } from '../../../../src/chat/template/chatTemplate.ts';
import { toTemplateMessages, toTextMessage } from '../../../../src/chat/template/templateMessages.ts';

const ends = { bos: '<s>', eos: '</s>' };
const system = (text: string): Message => ({ role: 'system', text });
const user = (text: string): Message => ({ role: 'user', text });
const assistant = (text: string): Message => ({ role: 'assistant', text });

const each = (body: string): string => `{% for message in messages %}${body}{% endfor %}`;
const anyRole = each("[{{ message['role'] }}]{{ message['content'] }}");
const onlyFirstSystem =
  "{% if messages[0]['role'] == 'system' %}<<{{ messages[0]['content'] }}>>{% endif %}" +
  each("{% if message['role'] != 'system' %}[{{ message['role'] }}]{{ message['content'] }}{% endif %}");
const noSystem = each(
  "{% if message['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}[{{ message['role'] }}]{{ message['content'] }}",
);
const alternating = each(
  "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('take turns') }}{% endif %}" +
    "[{{ message['role'] }}]{{ message['content'] }}",
);

const alternatingAfterSystem =
  "{% if messages[0]['role'] == 'system' %}<<{{ messages[0]['content'] }}>>{% set rest = messages[1:] %}{% else %}{% set rest = messages %}{% endif %}" +
  alternating.replace('in messages', 'in rest');
// A family of models writes prompts in this manner.
const systemInLastQuestion =
  "{% if messages[0]['role'] == 'system' %}{% set rule = messages[0]['content'] %}{% set rest = messages[1:] %}{% else %}{% set rest = messages %}{% endif %}" +
  "{% for m in rest %}{% if m['role'] == 'user' %}[INST]{% if loop.last and rule is defined %}{{ rule + '\n\n' }}{% endif %}{{ m['content'] }}[/INST]" +
  "{% elif m['role'] == 'tool' %}[RESULT]{{ m['content'] }}{% elif m['role'] == 'assistant' %}{{ m['content'] }}" +
  '{% for call in m.tool_calls or [] %}<tool_call>\n{{ call.function | tojson }}\n</tool_call>{% endfor %}' +
  "{% else %}{{ raise_exception('unknown role') }}{% endif %}{% endfor %}";

const messages = [system('S'), user('U'), assistant('A'), system('T'), user('V')];

function render(source: string | undefined, messages: readonly Message[]): string {
  const chatTemplate = probeChatTemplate(source, ends);
  const normalized = chatTemplate.normalizeMessages(messages);
  return chatTemplate.render({ messages: toTemplateMessages(normalized, chatTemplate.toolDialect) });
}

describe('a chat template', () => {
  it.each([
    ['supports all roles anywhere', anyRole, '[system]S[user]U[assistant]A[system]T[user]V'],
    ['supports a system message only at the start', onlyFirstSystem, '<<S>>[user]U[assistant]A[user]T\n\nV'],
    ['supports no system message', noSystem, '[user]S\n\nU[assistant]A[user]T\n\nV'],
    ['requires alternating roles', alternating, '[user]S\n\nU[assistant]A[user]T\n\nV'],
  ])('that %s gets only such messages', (_, source, expected) => {
    expect(render(source, messages)).toBe(expected);
  });

  it('that requires a user message first gets an empty one before an answer', () => {
    expect(render(alternating, [assistant('A'), user('U')])).toBe('[user][assistant]A[user]U');
  });

  it('that requires a user message after a system message gets an empty one there', () => {
    expect(render(alternatingAfterSystem, [system('S'), assistant('A'), user('U')])).toBe(
      '<<S>>[user][assistant]A[user]U',
    );
    expect(render(alternatingAfterSystem, [system('S'), user('U')])).toBe('<<S>>[user]U');
  });

  it('that writes the system message only into a last question is rendered as it is, with a note', () => {
    expect(render(systemInLastQuestion, [system('S'), user('U')])).toContain('S');
    expect(probeChatTemplate(systemInLastQuestion, ends).notes).toContainEqual(
      expect.stringContaining('leaves the system message out of prompts that end with results'),
    );
  });

  it('has notes on the messages that it does not support', () => {
    expect(probeChatTemplate(anyRole, ends).notes).toEqual([]);
    expect(probeChatTemplate(onlyFirstSystem, ends).notes).toEqual([
      expect.stringContaining('a system message only at the start'),
    ]);
    expect(probeChatTemplate(noSystem, ends).notes).toEqual([expect.stringContaining('no system message')]);
  });

  it('receives the special tokens and add_generation_prompt', () => {
    const source = `{{ bos_token }}${anyRole}{{ eos_token }}{% if add_generation_prompt %}[assistant]{% endif %}`;
    expect(render(source, [user('U')])).toBe('<s>[user]U</s>[assistant]');
  });

  it('receives strftime_now only if it fails without it, with a constant time', () => {
    const pinned = `{% if strftime_now is defined %}{{ strftime_now('%d %b %Y') }}{% else %}26 Jul{% endif %}${anyRole}`;
    expect(render(pinned, [user('U')])).toBe('26 Jul[user]U');
    expect(render(`{{ strftime_now('%Y') }}${anyRole}`, [user('U')])).toMatch(/^\d{4}\[user\]U$/);
    const { strftime_now: strftime } = clockAt(new Date(2026, 0, 2, 3, 4, 5));
    expect(strftime('%A %a %d %B %b %m %Y %H:%M:%S')).toBe('Friday Fri 02 January Jan 01 2026 03:04:05');
  });

  it.each([
    ['supports tools if it renders them', `{% if tools %}{{ tools | tojson }}{% endif %}${anyRole}`, true],
    ['does not support tools if it ignores them', anyRole, false],
    [
      'supports tools if it appends the descriptions of their parameters to text',
      "{% for tool in tools or [] %}{{ tool.function.name }}{% for name, parameter in tool.function.parameters.properties | items %}{{ ' (' + parameter.description + ')' }}{% endfor %}{% endfor %}" +
        anyRole,
      true,
    ],
    [
      'does not support tools if it raises an error for them',
      `{% if tools %}{{ raise_exception('no tools') }}{% endif %}${anyRole}`,
      false,
    ],
    [
      'does not support tools if it omits the message with them',
      `{% if tools %}{{ tools | tojson }}{% else %}${anyRole}{% endif %}`,
      false,
    ],
    ['does not support tools if it does not parse', '{% if %}', false],
  ])('%s', (_, source, expected) => {
    expect(probeChatTemplate(source, ends).supportsTools).toBe(expected);
  });

  it.each([
    ['that writes the whole schema', '{{ tools | tojson if tools }}', undefined],
    [
      'that writes names, descriptions and types',
      '{% for t in tools or [] %}{{ t.function.name }}{% for k, v in t.function.parameters.properties | items %}' +
        '{{ k }}: {{ v.type }} {{ v.description }}{% endfor %}{% endfor %}',
      ['anyOf', '$ref', 'an enum of numbers'],
    ],
    [
      'that refuses what has no type',
      '{% for t in tools or [] %}{{ t.function.name }}{% for k, v in t.function.parameters.properties | items %}' +
        "{{ v.enum | join if v.enum else v.type if v.type else raise_exception('no type') }}{% endfor %}{% endfor %}",
      undefined,
    ],
  ])('%s omits what it leaves out of tools', (_, source, omits) => {
    expect(probeChatTemplate(source + anyRole, ends).toolDialect.omits).toEqual(omits);
  });

  it('receives no list of tools when there are none, and else JSON as in Jinja', () => {
    const parameters = { type: 'object', properties: { b: { enum: ['ü"', 1.5, null] }, a: {} }, required: [] };
    const tool = { type: 'function', function: { name: 'f', description: 'd', parameters } } as const;
    const renderTools = (source: string) =>
      probeChatTemplate(source + anyRole, ends).render({ messages: [toTextMessage(user('U'))], tools: [tool] });
    expect(render(`{{ tools is none }}${anyRole}`, [user('U')])).toBe('True[user]U');
    expect(renderTools('{% if tools %}{{ tools[0].function | tojson }}{% endif %}')).toBe(
      '{"name": "f", "description": "d", "parameters": {"type": "object", "properties": {"b": {"enum": ["ü\\"", 1.5, null]}, "a": {}}, "required": []}}[user]U',
    );
    expect(
      renderTools('{% if tools %}{{ tools[0].function.parameters.properties | tojson(indent=2) }}{% endif %}'),
    ).toBe('{\n  "b": {\n    "enum": [\n      "ü\\"",\n      1.5,\n      null\n    ]\n  },\n  "a": {}\n}[user]U');
  });

  it('receives calls and results one by one', () => {
    const messages: readonly Message[] = [
      user('U'),
      {
        role: 'assistant',
        text: 'built-in text',
        toolExchange: { kind: 'calls', text: 'A', calls: [{ id: '1', name: 'f', arguments: { x: 2 } }] },
      },
      { role: 'user', text: 'built-in text', toolExchange: { kind: 'result', callId: '1', name: 'f', content: 'R' } },
      { role: 'user', text: 'built-in text', toolExchange: { kind: 'result', callId: '2', name: 'f', content: 'S' } },
      user('V'),
      user('W'),
    ];
    const source = each(
      "{% if message.role == 'user' and loop.previtem and loop.previtem.role == 'user' %}{{ raise_exception('take turns') }}{% endif %}" +
        '[{{ message.role }}]{{ message.content }}' +
        '{% for call in message.tool_calls or [] %}({{ call.function | tojson }}){% endfor %}',
    );
    expect(render(source, messages)).toBe(
      '[user]U[assistant]A({"name": "f", "arguments": {"x": 2}})[tool]R[tool]S[user]V\n\nW',
    );
  });

  it.each([
    ['is absent', undefined, 'has no chat template'],
    ['does not parse', '{% if %}', 'does not work'],
    ['fails', "{{ raise_exception('never') }}", 'never'],
    ['omits the user message', 'Hello!', "leaves the user's message out"],
  ])('that %s is replaced by ChatML, with a note', (_, source, why) => {
    expect(render(source, [system('S'), user('U')])).toMatchInlineSnapshot(`
      "<|im_start|>system
      S<|im_end|>
      <|im_start|>user
      U<|im_end|>
      <|im_start|>assistant
      "
    `);
    const { notes } = probeChatTemplate(source, ends);
    expect(notes[0]).toContain(why);
    expect(notes[0]).toContain('ChatML');
  });

  it.each([
    [
      'Gemma',
      '<start_of_turn>',
      '<s><start_of_turn>user\nS\n\nU<end_of_turn>\n<start_of_turn>model\nA<end_of_turn>\n' +
        '<start_of_turn>user\nT\n\nV<end_of_turn>\n<start_of_turn>model\n',
    ],
    [
      'Llama 3',
      '<|start_header_id|>',
      '<s>' +
        ['system\nS', 'user\nU', 'assistant\nA', 'system\nT', 'user\nV']
          .map((turn) => `<|start_header_id|>${turn.replace('\n', '<|end_header_id|>\n\n')}<|eot_id|>`)
          .join('') +
        '<|start_header_id|>assistant<|end_header_id|>\n\n',
    ],
    ['Mistral', '[INST]', '<s>[INST] S\n\nU[/INST] A</s>[INST] T\n\nV[/INST]'],
  ])(
    'that is absent is replaced by the layout of %s, where the vocabulary has its tokens',
    (family, token, expected) => {
      const template = probeChatTemplate(undefined, ends, undefined, (spelling) => spelling === token);
      const prompt = template.normalizeMessages(messages);
      expect(template.render({ messages: toTemplateMessages(prompt, template.toolDialect) })).toBe(expected);
      expect(template.notes[0]).toContain(`written as ${family}`);
      expect(template.notes[1]).toContain('base model');
    },
  );
});
