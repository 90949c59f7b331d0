import { describe, expect, it } from 'vitest';
import { probeChatTemplate } from '../../../../src/chat/template/chatTemplate.ts';
import { renderPrompt } from '../../../../src/chat/template/renderPrompt.ts';
import type { ToolBlock } from '../../../../src/chat/dialog.ts';

// Appends the description of each parameter to a text, as some published templates do; writes calls as chatml does.
const source =
  "{% for tool in tools or [] %}{{ tool.function.name }}{% for name, parameter in tool.function.parameters.properties | items %}{{ ' ' + name + ': ' + parameter.description }}{% endfor %};{% endfor %}" +
  '{% for m in messages %}[{{ m.role }}]{{ m.content }}' +
  '{% for call in m.tool_calls or [] %}<tool_call>\n{{ call.function | tojson }}\n</tool_call>{% endfor %}{% endfor %}' +
  '{% if add_generation_prompt %}[assistant]{% endif %}';

function toolBlock(parameter: object): ToolBlock {
  const parameters = { type: 'object', properties: { room: parameter }, required: [] };
  const definitions = [{ type: 'function', function: { name: 'light', description: 'Light.', parameters } }] as const;
  return { format: 'chatml', definitions, place: 'system', text: 'OUR WORDING' };
}

describe('the tools of a prompt', () => {
  const template = probeChatTemplate(source, { bos: '', eos: '' });
  const render = (parameter: object): string =>
    renderPrompt({ messages: [{ role: 'user', text: 'Q' }], tools: toolBlock(parameter) }, template);

  it('are written by the chat template', () => {
    expect(template).toMatchObject({ supportsTools: true, toolDialect: { format: 'chatml' } });
    expect(render({ type: 'string', description: 'Where.' })).toBe('light room: Where.;[user]Q[assistant]');
  });

  it('are in our own wording where the chat template refuses them', () => {
    expect(render({ type: 'string' })).toBe('[system]OUR WORDING[user]Q[assistant]');
  });
});
