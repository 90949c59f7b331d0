import { describe, expect, it } from 'vitest';
import { detectToolFormat } from '../../../../../src/engine/llama/tokenizer/detectToolFormat.ts';

const each = (body: string): string => `{% for message in messages %}${body}{% endfor %}`;
const anyRole = each("[{{ message['role'] }}]{{ message['content'] }}");

describe('the tool-call format of a model', () => {
  const tokenSet = (...known: readonly string[]) => ({ has: (spelling: string): boolean => known.includes(spelling) });

  it.each([
    ['chatml', '... <tool_call> ...', tokenSet()],
    ['mistral', "... '[TOOL_CALLS]' ...", tokenSet()],
    ['mistral', anyRole, tokenSet('[TOOL_CALLS]')],
    ['llama3', '<|start_header_id|> ... {"name": f, "parameters": p}', tokenSet()],
    [undefined, '<|start_header_id|>', tokenSet()],
    [undefined, anyRole, tokenSet('<tool_call>')],
  ])('is %s for the tags in its template', (format, template, tokenizer) => {
    expect(detectToolFormat(template, tokenizer)).toBe(format);
  });
});
