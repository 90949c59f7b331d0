import { describe, expect, it } from 'vitest';
import { probeChatTemplate } from '../../../../src/chat/template/chatTemplate.ts';

const ends = { bos: '<s>', eos: '</s>' };
const turns =
  '{{ tools | tojson if tools }}{% for message in messages %}[{{ message.role }}]{{ message.content }}{% endfor %}';
const calls = (before: string): string =>
  `${turns}{% for message in messages %}{% for call in message.tool_calls or [] %}${before}` +
  '{{ call.function.name }}{{ call.function.arguments | tojson }}</call>{% endfor %}{% endfor %}';
const longLoop = '{% for a in range(900) %}{% for b in range(1000) %}{% endfor %}{% endfor %}';
const variables = (count: number): string =>
  Array.from({ length: count }, (_, index) => `{% if think${index} %}{% endif %}`).join('');

describe('a chat template that is slow to try out', () => {
  it.each([
    ['that takes long for each prompt', turns + longLoop],
    ['that takes long, with many variables of reasoning', turns + longLoop + variables(40)],
    ['that reads very many variables of reasoning', turns + variables(2000)],
    ['that writes very long calls', calls("{{ '<call>' * 100000 }}")],
  ])('%s is not used, and the owner is told so', (_, source) => {
    for (const load of ['first', 'again']) {
      const template = probeChatTemplate(source, ends);
      expect(template.fallbackReason, load).toContain('trying it out takes too many steps');
      expect(template.notes.join(), load).toContain('prompts are written as ChatML');
      expect(template.toolDialect.format, load).toBeUndefined();
    }
  });

  it('with very many marks before a call is used without its layout', () => {
    const marks = '{% for i in range(500) %}<mark{{ i }}>{% endfor %}';
    const template = probeChatTemplate(calls(marks), ends);
    expect(template.fallbackReason).toBeUndefined();
    expect(template.toolDialect).toMatchObject({ format: undefined, layout: undefined });
    expect(template.toolDialect.because).toContain('more than 2048 characters around a call');
  });
});
