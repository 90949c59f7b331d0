import { describe, expect, it } from 'vitest';
import { compileTemplate } from '../../../../../src/engine/llama/prompt/jinja.ts';

describe('the option enable_thinking', () => {
  const template =
    '{% for m in messages %}{{ m.content }}{% endfor %}{% if enable_thinking is defined %}{{ enable_thinking }}{% endif %}';
  const prompt = [{ role: 'user', text: 'Q' }] as const;

  it.each([
    [undefined, 'Q'],
    [true, 'Qtrue'],
    [false, 'Qfalse'],
  ])('is passed to the template only when it is set: %s', (thinking, expected) => {
    expect(compileTemplate(template, { bos: '', eos: '' })(prompt, undefined, thinking).toLowerCase()).toBe(
      expected.toLowerCase(),
    );
  });
});
