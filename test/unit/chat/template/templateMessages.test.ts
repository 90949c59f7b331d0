import { describe, expect, it } from 'vitest';
import { probeChatTemplate } from '../../../../src/chat/template/chatTemplate.ts';
import type { TemplateMessage } from '../../../../src/chat/template/templateInput.ts';
import { renderPrompt } from '../../../../src/chat/template/renderPrompt.ts';
import type { Message, Prompt, ToolBlock } from '../../../../src/chat/dialog.ts';

const ends = { bos: '<s>', eos: '</s>' };
const shown = '{{ tools | tojson if tools }}';
/** A template that writes each message, and `calls` for the calls of one. */
const template = (calls: string, content = '{{ message.content }}') =>
  `${shown}{% for message in messages %}[{{ message.role }}]${content}${calls}` +
  "{% if message.role == 'tool' %} of {{ message.name }} {{ message.tool_call_id }}{% endif %}{% endfor %}[assistant]";

const conversation: readonly Message[] = [
  { role: 'user', text: 'Is it dark?' },
  {
    role: 'assistant',
    text: 'I looked at the lamp.',
    toolExchange: {
      kind: 'calls',
      text: '',
      calls: [
        { id: 'k3J9x2Qwe', name: 'look', arguments: { at: 'lamp', times: 2 } },
        { id: 'Zz8pQ1abc', name: 'wait', arguments: {} },
      ],
    },
  },
  {
    role: 'user',
    text: 'look gave: off',
    toolExchange: { kind: 'result', callId: 'k3J9x2Qwe', name: 'look', content: 'off' },
  },
  { role: 'user', text: 'And now?' },
];

const render = (source: string, prompt: Prompt = { messages: conversation }): string =>
  renderPrompt(prompt, probeChatTemplate(source, ends));

const result = (callId: string, name: string, content: string): Message => ({
  role: 'user',
  text: `${name} gave: ${content}`,
  toolExchange: { kind: 'result', callId, name, content },
});
const looked = result('k3J9x2Qwe', 'look', 'off');
const waited = result('Zz8pQ1abc', 'wait', 'ok');
const [question, calls] = conversation.slice(0, 2) as [Message, Message];
const answered: readonly Message[] = [question, calls, looked, waited];

const asJson = '{% for call in message.tool_calls or [] %}<call>{{ call.function | tojson }}</call>{% endfor %}';

describe('calls and results of the history', () => {
  it("are written by the template, byte for byte as from Hugging Face's form", () => {
    const calls = conversation[1]?.toolExchange?.kind === 'calls' ? conversation[1].toolExchange.calls : [];
    const huggingFace: readonly TemplateMessage[] = [
      { role: 'user', content: 'Is it dark?' },
      {
        role: 'assistant',
        content: '',
        tool_calls: calls.map(({ id, ...called }) => ({ id, type: 'function', function: called })),
      },
      { role: 'tool', name: 'look', tool_call_id: 'k3J9x2Qwe', content: 'off' },
      { role: 'user', content: 'And now?' },
    ];
    const source = template(asJson);
    expect(render(source)).toBe(probeChatTemplate(source, ends).render({ messages: huggingFace }));
    expect(render(source)).toContain('<call>{"name": "look", "arguments": {"at": "lamp", "times": 2}}</call>');
    expect(render(source)).toContain('[tool]off of look k3J9x2Qwe');
  });

  it('have their arguments as JSON text where the template joins strings', () => {
    const source = template(
      "{% for call in message.tool_calls or [] %}{{ '<call>' + call.function.name + '=' + call.function.arguments + '</call>' }}{% endfor %}",
    );
    expect(render(source)).toContain('<call>look={"at": "lamp", "times": 2}</call><call>wait={}</call>');
  });

  it('have no content where the template writes calls only then', () => {
    const source = template(
      '{% if message.tool_calls and message.content is none %}' + asJson + '{% endif %}',
      '{{ message.content if message.content is not none }}',
    );
    expect(render(source)).toContain('[assistant]<call>{"name": "look"');
  });

  it('have numbered ids where the template writes the id in place of the name', () => {
    const source = template(
      '{% for call in message.tool_calls or [] %}<call>{{ call.id }} {{ call.function.arguments | tojson }}</call>{% endfor %}',
    );
    expect(render(source)).toContain(
      '<call>functions.look:0 {"at": "lamp", "times": 2}</call><call>functions.wait:1 {}</call>',
    );
    expect(render(source)).toContain('[tool]off of look functions.look:0');
  });

  it('are text in the layout of the family where the template leaves calls out', () => {
    const source =
      'List of tools: [' +
      template('').replace(
        '{{ tools | tojson if tools }}',
        '{% for tool in tools or [] %}{{ tool | tojson }}{% endfor %}]',
      );
    expect(render(source)).toContain(
      '[assistant]<|tool_call_start|>[look(at="lamp", times=2), wait()]<|tool_call_end|>[tool]off',
    );
  });

  it('are text in our own wording where nothing of them is known', () => {
    const source =
      "{% for message in messages %}{% if message.role != 'tool' %}[{{ message.role }}]{{ message.content }}{% endif %}{% endfor %}";
    expect(render(source)).toBe('[user]Is it dark?[assistant]I looked at the lamp.[user]look gave: off[user]And now?');
  });

  it.each([
    [
      'refuses several calls in one message',
      "{% if message.tool_calls and message.tool_calls | length > 1 %}{{ raise_exception('one') }}{% endif %}" + asJson,
    ],
    [
      'writes only the first call of a message',
      '{% if message.tool_calls %}<call>{{ message.tool_calls[0].function | tojson }}</call>{% endif %}',
    ],
  ])('are a message for each call, followed by its result, where the template %s', (_, written) => {
    const called = (name: string, args: string) => `<call>{"name": "${name}", "arguments": ${args}}</call>`;
    const first = `[assistant]${called('look', '{"at": "lamp", "times": 2}')}`;
    const second = `[assistant]${called('wait', '{}')}`;
    const resultOf = (text: string, name: string, id: string) => `[tool]${text} of ${name} ${id}`;
    const one = resultOf('off', 'look', 'k3J9x2Qwe');
    const two = resultOf('ok', 'wait', 'Zz8pQ1abc');
    expect(render(template(written), { messages: answered })).toBe(
      `[user]Is it dark?${first}${one}${second}${two}[assistant]`,
    );
    expect(render(template(written), { messages: [question, calls, waited, looked, question] })).toBe(
      `[user]Is it dark?${first}${one}${second}${two}[user]Is it dark?[assistant]`,
    );
    // The result of the first call has not come.
    expect(render(template(written), { messages: [question, calls, waited] })).toBe(
      `[user]Is it dark?${first}${second}${two}[assistant]`,
    );
  });

  it('come without the text of their message where the template would leave them out for it', () => {
    const spoken: Message = { ...calls, toolExchange: { ...calls.toolExchange, text: 'Let me look.' } as never };
    const withText = template(asJson);
    const instead = template(asJson.replace('message.tool_calls', 'not message.content and message.tool_calls'));
    expect(render(withText, { messages: [question, spoken, looked, waited] })).toContain(
      '[assistant]Let me look.<call>{"name": "look"',
    );
    expect(render(instead, { messages: [question, spoken, looked, waited] })).toContain(
      '[assistant]<call>{"name": "look"',
    );
  });

  it('are text in our own wording, the results in one message, where the tools are in another format', () => {
    const tools: ToolBlock = { format: 'generic', definitions: [], place: 'system', text: 'TOOLS' };
    expect(render(template(asJson), { messages: answered, tools })).toBe(
      '[system]TOOLS[user]Is it dark?[assistant]I looked at the lamp.[user]look gave: off\nwait gave: ok[assistant]',
    );
  });

  it('are text in our own wording where the template refuses them in this place', () => {
    const withToolsOnly =
      "{% if message.role == 'tool' and not tools %}{{ raise_exception('no tools') }}{% endif %}" + asJson;
    expect(render(template(withToolsOnly), { messages: answered })).toBe(
      '[user]Is it dark?[assistant]I looked at the lamp.[user]look gave: off\nwait gave: ok[assistant]',
    );
    const alternating =
      "{% if message.role == 'user' and loop.previtem and loop.previtem.role != 'assistant' %}" +
      "{{ raise_exception('take turns') }}{% endif %}" +
      asJson;
    const messages = [...answered, { role: 'user', text: 'Again.' } as const];
    expect(render(template(alternating), { messages })).toBe(
      '[user]Is it dark?[assistant]I looked at the lamp.[user]look gave: off\nwait gave: ok\n\nAgain.[assistant]',
    );
  });

  it('leave a refusal of other messages as it is', () => {
    const refuses =
      template(asJson) + "{% if 'forbidden' in messages[0].content %}{{ raise_exception('no') }}{% endif %}";
    expect(() => render(refuses, { messages: [{ role: 'user', text: 'forbidden' }] })).toThrow('no');
    expect(() => render(refuses, { messages: [{ role: 'user', text: 'forbidden' }, calls, looked] })).toThrow('no');
  });
});
