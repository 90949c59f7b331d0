import { describe, expect, it } from 'vitest';
import { compileTemplate } from '../../../../src/chat/template/compileTemplate.ts';
import { probeChatTemplate } from '../../../../src/chat/template/chatTemplate.ts';
import { findThinkingVariable, thinkingVariables } from '../../../../src/chat/template/thinkingVariable.ts';

const noTokens = { bos: '', eos: '' };
const find = (source: string) => findThinkingVariable(source, compileTemplate(source, noTokens));

const messages = '{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}';
const closedBlock = "{{ '<mull></mull>' }}";
const effort = (text: string): string => `{% set effort = reasoning_effort | default('medium') %}${text}`;

describe('the variable of a chat template that controls reasoning', () => {
  it.each([
    [
      'closes the reasoning',
      `${messages}[bot]{% if enable_thinking is false %}${closedBlock}{% endif %}`,
      'enable_thinking',
    ],
    ['opens the reasoning', `${messages}[bot]{% if thinking %}<mull>{% endif %}`, 'thinking'],
    [
      'is given a default by the template',
      `{% if not thinking is defined %}{% set thinking = false %}{% endif %}${messages}{% if thinking %}<mull>{% endif %}`,
      'thinking',
    ],
    [
      'is written in the system message that the template adds',
      `{% if messages[0].role != 'system' %}{% if think_first %}Write down your reasoning.{% endif %}{% endif %}${messages}`,
      'think_first',
    ],
    [
      'is named otherwise, but adds words about reasoning',
      `${messages}{% if deep %}Think step by step.{% endif %}`,
      'deep',
    ],
  ])('takes true and false, if it %s', (_, source, name) => {
    expect(find(source)).toEqual({ name, on: true, off: false, canBeOff: true });
  });

  it.each([
    ['the template has none', messages],
    ['the template assigns it itself', `{% set thinking = true %}${messages}{% if thinking %}<mull>{% endif %}`],
    ['it changes nothing in a first prompt', `${messages}{% if keep_past_thinking and messages[2] %}<mull>{% endif %}`],
    ['it only prints the value', `Thought of the day: {{ thought or false }}. ${messages}`],
    ['it changes something else', `${messages}{% if add_emblem %}*{% endif %}`],
    ['it is a list of tools', `${messages}{% for tool in builtin_tools or [] %}{{ tool }}: reason.{% endfor %}`],
  ])('is not found where %s', (_, source) => {
    expect(find(source)).toBeUndefined();
  });

  it('can be a budget, where 0 closes the reasoning', () => {
    const source =
      '{% if thinking_budget is defined %}Budget: {{ thinking_budget }}.{% endif %}' +
      `${messages}[bot]{% if thinking_budget == 0 %}${closedBlock}{% endif %}`;
    expect(find(source)).toEqual({ name: 'thinking_budget', on: undefined, off: 0, canBeOff: true });
  });

  it('can be a level of effort that is printed: it cannot be off', () => {
    expect(find(`${effort('Reasoning: {{ effort }}. ')}${messages}[bot]`)).toEqual({
      name: 'reasoning_effort',
      on: 'medium',
      off: 'low',
      canBeOff: false,
    });
  });

  it('can be a level of effort that closes the reasoning', () => {
    expect(find(`${messages}[bot]${effort(`{% if effort == 'low' %}${closedBlock}{% endif %}`)}`)).toEqual({
      name: 'reasoning_effort',
      on: 'medium',
      off: 'low',
      canBeOff: true,
    });
  });

  it('can be a level of effort of which the template knows only some', () => {
    const refuse = "{% if effort not in ['none', 'high'] %}{{ raise_exception('unknown') }}{% endif %}";
    const source =
      `{% set effort = reasoning_effort | default('none') %}${refuse}${messages}[bot]` +
      "{% if effort == 'high' %}<mull>{% endif %}";
    expect(find(source)).toEqual({ name: 'reasoning_effort', on: 'high', off: 'none', canBeOff: true });
  });

  it('is a switch where the template has a level, too', () => {
    const source =
      `${effort('Reasoning: {{ effort }}. ')}${messages}` +
      '[bot]{% if enable_thinking is false %}<mull></mull>{% endif %}';
    expect(find(source)?.name).toBe('enable_thinking');
  });

  it('sets no variable where there is none, or where the model decides', () => {
    const variable = find(`${messages}{% if thinking %}<mull>{% endif %}`);
    expect(thinkingVariables(undefined, true)).toEqual({});
    expect(thinkingVariables(variable, undefined)).toEqual({});
    expect(thinkingVariables(variable, true)).toEqual({ thinking: true });
    expect(thinkingVariables(variable, false)).toEqual({ thinking: false });
    const budget = { name: 'thinking_budget', on: undefined, off: 0, canBeOff: true } as const;
    expect(thinkingVariables(budget, true)).toEqual({});
    expect(thinkingVariables(budget, false)).toEqual({ thinking_budget: 0 });
  });
});

describe('a chat template that cannot turn reasoning off', () => {
  it.each([
    ['only sets a level', `${effort('Reasoning: {{ effort }}. ')}${messages}[bot]`, 'reasoning_effort is "low"'],
    ['always opens the reasoning', `${messages}[bot]<think>\n`, 'reasons also without thinking'],
  ])('has a note, if it %s', (_, source, note) => {
    expect(probeChatTemplate(source, noTokens).notes).toEqual([expect.stringContaining(note)]);
  });

  it('has none if it closes the reasoning', () => {
    const source = `${messages}[bot]<think>{% if enable_thinking is false %}</think>{% endif %}`;
    expect(probeChatTemplate(source, noTokens).notes).toEqual([]);
  });
});
