import { describe, expect, it } from 'vitest';
import { compileTemplate } from '../../../../src/chat/template/compileTemplate.ts';

describe('a further variable of the template', () => {
  const template =
    '{% for m in messages %}{{ m.content }}{% endfor %}{% if enable_thinking is defined %}{{ enable_thinking }}{% endif %}';
  const messages = [{ role: 'user', content: 'Q' }] as const;

  it.each([
    [undefined, 'Q'],
    [true, 'Qtrue'],
    [false, 'Qfalse'],
  ])('is passed to it only when it is set: %s', (thinking, expected) => {
    const variables = thinking === undefined ? {} : { enable_thinking: thinking };
    const render = compileTemplate(template, { bos: '', eos: '' });
    expect(render({ messages, variables }).toLowerCase()).toBe(expected.toLowerCase());
  });
});

describe('add_generation_prompt', () => {
  it('is true unless the caller says otherwise', () => {
    const render = compileTemplate('{{ messages[0].content }}{% if add_generation_prompt %}[assistant]{% endif %}', {
      bos: '',
      eos: '',
    });
    const messages = [{ role: 'user', content: 'Q' }] as const;
    expect(render({ messages })).toBe('Q[assistant]');
    expect(render({ messages, addGenerationPrompt: false })).toBe('Q');
  });
});
