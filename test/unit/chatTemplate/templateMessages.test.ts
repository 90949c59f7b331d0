import { describe, expect, it } from 'vitest';
import { probeChatTemplate } from '../../../src/chatTemplate/chatTemplate.ts';
import type { TemplateMessage } from '../../../src/chatTemplate/templateInput.ts';
import { toTemplateMessages } from '../../../src/chatTemplate/templateMessages.ts';
import type { Message } from '../../../src/dialog.ts';

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

function render(source: string): string {
  const chatTemplate = probeChatTemplate(source, ends);
  return chatTemplate.render({ messages: toTemplateMessages(conversation, chatTemplate.toolDialect) });
}

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
});
