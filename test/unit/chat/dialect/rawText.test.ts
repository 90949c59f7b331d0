import { describe, expect, it } from 'vitest';
import { nativeFormat } from '../../../../src/chat/dialect/nativeFormat.ts';
import { keyValueCalls, namedJsonCalls, pythonCalls } from '../../../helpers/callLayouts.ts';

describe('the raw text of a native call', () => {
  it.each([
    [namedJsonCalls, 'Hm. <calls><call>look<args>{"at": 1}</call></calls>', ['<call>look<args>{"at": 1}</call>']],
    [keyValueCalls, 'Hm. <tool>call:look{at:1}</tool>', ['<tool>call:look{at:1}</tool>']],
    [pythonCalls, 'Hm. <calls>[look(at=1), wait()]</calls>', ['<calls>[look(at=1)', 'wait()']],
  ])('starts with the mark before its name', (layout, text, raw) => {
    expect(
      nativeFormat(layout)
        .detect(text)
        .calls.map((call) => call.raw),
    ).toEqual(raw);
  });
});
