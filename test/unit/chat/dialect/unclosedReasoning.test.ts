import { describe, expect, it } from 'vitest';
import { chatml } from '../../../../src/chat/formats/chatml.ts';
import { nativeFormat } from '../../../../src/chat/dialect/nativeFormat.ts';
import type { ToolCallFormat } from '../../../../src/chat/tool.ts';
import { namedJsonCalls } from '../../../helpers/callLayouts.ts';

const call = '<calls><call>look<args>{"at": "lamp"}</call></calls>';
const names = (format: ToolCallFormat, text: string): readonly string[] =>
  format.detect(text).calls.map(({ name }) => name);

describe('a call in reasoning that is never closed', () => {
  const native = nativeFormat(namedJsonCalls);

  it("counts when the reply ends with it, in the marks of the model's own layout", () => {
    expect(names(native, `<think>I should look.${call}\n`)).toEqual(['look']);
    expect(native.detect(`<think>I should look.${call}`).truncated).toBe(false);
  });

  it.each([
    ['the reasoning goes on', `<think>I could write ${call}, or not.`],
    ['the reasoning is closed', `<think>I could write ${call}</think>No, it is off.`],
    ['it is cut off', `<think>I could write ${call.slice(0, 30)}`],
  ])('does not count when %s', (_, text) => {
    expect(names(native, text)).toEqual([]);
  });

  it('does not count in the other formats', () => {
    expect(names(chatml, '<think>Hm.<tool_call>{"name": "look", "arguments": {}}</tool_call>')).toEqual([]);
  });
});
