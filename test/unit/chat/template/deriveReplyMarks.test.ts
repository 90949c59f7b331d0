import { describe, expect, it } from 'vitest';
import { probeChatTemplate } from '../../../../src/chat/template/chatTemplate.ts';
import { defaultReplyMarks, type ReplyMarks } from '../../../../src/chat/replyMarks.ts';
import { harmonyMarks, messageMarks, responseMarks } from '../../../helpers/replyMarks.ts';

const marksOf = (source: string | undefined): ReplyMarks =>
  probeChatTemplate(source, { bos: '<s>', eos: '</s>' }).replyMarks;

/** A template of ChatML with the text of an assistant's message, and the end of a prompt. */
const chatml = (reply: string, generationPrompt = ''): string =>
  `{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' }}{% if m.role == 'assistant' %}${reply}` +
  `{% else %}{{ m.content }}{% endif %}{{ '<|im_end|>\\n' }}{% endfor %}` +
  `{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}${generationPrompt}{% endif %}`;

const own = (source: string): ReplyMarks['reasoning'][number] | undefined => marksOf(source).reasoning[0];

describe('the marks of reasoning are read off', () => {
  it('a template that writes reasoning before the answer', () => {
    const source = chatml(
      "{% if m.reasoning_content %}{{ '<mull>\\n' + m.reasoning_content + '\\n</mull>\\n\\n' }}{% endif %}{{ m.content }}",
    );
    expect(own(source)).toEqual({ open: '<mull>', close: '</mull>', ending: '\n</mull>\n\n' });
  });

  it.each(['reasoning', 'thinking', 'thought'])('a template that has it under the key %s', (key) => {
    const source = chatml(`{% if m.${key} %}<mull>{{ m.${key} }}</mull>{% endif %}{{ m.content }}`);
    expect(own(source)).toEqual({ open: '<mull>', close: '</mull>', ending: '</mull>' });
  });

  it('a template that writes it only before calls', () => {
    const source = chatml(
      "{% if m.tool_calls %}{{ '<|mull>idea\\n' + m.reasoning_content + '\\n<mull|>' }}<call>{% else %}{{ m.content }}{% endif %}",
    );
    expect(own(source)).toEqual({ open: '<|mull>idea', close: '<mull|>', ending: '\n<mull|>' });
  });

  it('a template that writes it after the answer', () => {
    const source = chatml('{{ m.content }}{% if m.thought %}<mull>{{ m.thought }}</mull>{% endif %}');
    expect(own(source)).toEqual({ open: '<mull>', close: '</mull>', ending: '</mull>' });
  });

  it('a template whose prompts open it', () => {
    const reply = "{{ '<mull>\\n' + (m.reasoning_content or '') + '\\n</mull>\\n' + m.content }}";
    expect(own(chatml(reply, "{{ '<mull>\\n' }}"))).toEqual({
      open: '<mull>',
      close: '</mull>',
      ending: '\n</mull>\n',
    });
  });

  it('a template that turns it off within the question', () => {
    const source =
      "{% for m in messages %}{% if m.role == 'user' %}<|user|>{{ m.content }}{% if enable_thinking == false %}/off{% endif %}" +
      "{% else %}<|bot|>{% if m.reasoning_content %}{{ '<mull>' + m.reasoning_content + '</mull>' }}{% else %}<mull></mull>{% endif %}" +
      '{{ m.content }}{% endif %}{% endfor %}{% if add_generation_prompt %}<|bot|>{% if enable_thinking == false %}<mull></mull>{% endif %}{% endif %}';
    expect(own(source)).toEqual({ open: '<mull>', close: '</mull>', ending: '</mull>' });
  });

  it.each([
    ['off', "{% if enable_thinking == false %}{{ '<mull>\\n\\n</mull>\\n\\n' }}{% endif %}"],
    ['on', "{{ '<mull>' }}{% if not thinking %}{{ '\\n</mull>\\n\\n' }}{% endif %}"],
  ])('a prompt with an empty block, when it is turned %s', (_, generationPrompt) => {
    const marks = own(chatml('{{ m.content }}', generationPrompt));
    expect(marks).toEqual({ open: '<mull>', close: '</mull>', ending: '\n</mull>\n\n' });
  });

  it('a prompt that opens it in plain words', () => {
    const reply =
      "{% if m.reasoning_content %}{{ m.reasoning_content + '\\n[BEGIN ANSWER]\\n' }}{% endif %}{{ m.content }}";
    expect(own(chatml(reply, "{{ 'My steps:\\n' }}"))).toEqual({
      open: 'My steps:',
      close: '[BEGIN ANSWER]',
      ending: '\n[BEGIN ANSWER]\n',
    });
  });

  it('a template that only takes it out of messages', () => {
    const reply = "{{ m.content.split('</seed:think>') | last }}";
    expect(own(chatml(reply))).toMatchObject({ open: '<seed:think>', close: '</seed:think>' });
  });

  it('a template that does not work', () => {
    expect(own("{{ raise_exception('no') }}{# ends with [/THINK] #}")).toMatchObject({ open: '[THINK]' });
    expect(own('{% for </seed:think>')).toMatchObject({ open: '<seed:think>' });
  });

  it('a template next to the default ones, which come after', () => {
    const source = chatml('{% if m.thought %}<mull>{{ m.thought }}</mull>{% endif %}{{ m.content }}');
    expect(marksOf(source).reasoning.map(({ open }) => open)).toEqual(['<mull>', '<think>', '[THINK]']);
  });
});

describe('a template without reasoning', () => {
  it.each([
    ['has', chatml('{{ m.content }}')],
    ['that a file lacks has', undefined],
  ])('%s the default marks', (_, source) => {
    expect(marksOf(source)).toEqual(defaultReplyMarks);
  });
});

describe('the marks of an answer are read off', () => {
  it('a template that writes them around it', () => {
    const source =
      "{% for m in messages %}<|TURN|>{% if m.role == 'assistant' %}<|BOT|>{% if m.tool_calls %}<|START_THINKING|>" +
      '{{ m.reasoning_content }}<|END_THINKING|><|ACT|>{% else %}<|START_RESPONSE|>{{ m.content }}<|END_RESPONSE|>' +
      '{% endif %}{% else %}<|USER|>{{ m.content }}{% endif %}<|END|>{% endfor %}' +
      '{% if add_generation_prompt %}<|TURN|><|BOT|>{% endif %}';
    const { reasoning, ...others } = marksOf(source);
    const { reasoning: expected, ...expectedOthers } = responseMarks;
    expect(reasoning[0]).toEqual(expected[0]);
    expect(others).toEqual(expectedOthers);
  });

  it('a template with a plain word before it', () => {
    const source =
      "{% for m in messages %}<|{{ m.role }}|>{% if m.role == 'assistant' %}{{ '>>>all\\n' }}{% endif %}{{ m.content }}<|end|>" +
      "{% endfor %}{% if add_generation_prompt %}<|assistant|>{{ '>>>' }}{% endif %}";
    expect(marksOf(source).answer).toEqual({ open: 'all\n', close: '' });
  });

  it('no template that only repeats the end of its prompt', () => {
    expect(marksOf(chatml('<think></think>{{ m.content }}', '<think>')).answer).toBeUndefined();
  });

  it('a template of several messages', () => {
    const source =
      "{% for m in messages %}{% if m.role == 'assistant' %}{% if m.reasoning %}<|begin|>assistant<|think|>{{ m.reasoning }}" +
      '<|end|>{% endif %}<|begin|>assistant<|content|>{{ m.content }}<|end|>{% else %}<|begin|>{{ m.role }}<|content|>' +
      '{{ m.content }}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|begin|>assistant{% endif %}';
    const { reasoning, ...others } = marksOf(source);
    expect(reasoning[0]).toEqual(messageMarks.reasoning[0]);
    expect(others).toEqual({ answer: messageMarks.answer, restart: messageMarks.restart, header: undefined });
  });

  it('a template of messages with headers', () => {
    const source =
      "{% for m in messages %}{% if m.role == 'assistant' %}{% if m.thinking %}<|start|>assistant<|channel|>analysis<|message|>" +
      '{{ m.thinking }}<|end|>{% endif %}<|start|>assistant<|channel|>final<|message|>{{ m.content }}<|end|>{% else %}' +
      '<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endif %}{% endfor %}' +
      '{% if add_generation_prompt %}<|start|>assistant{% endif %}';
    expect(marksOf(source)).toEqual(harmonyMarks);
  });
});
