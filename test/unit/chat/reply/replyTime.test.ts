import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { nativeFormats } from '../../../../scripts/nativeLayouts.mjs';
import { nativeFormat } from '../../../../src/chat/dialect/nativeFormat.ts';
import { formats } from '../../../../src/chat/formats/index.ts';
import { parseReply } from '../../../../src/chat/reply/parseReply.ts';

// Each of these texts takes far less than a second, and took minutes, or did not end.
const maxMs = 20_000;

const allFormats = [...formats, ...nativeFormats(nativeFormat)];

/** What a function returns. @throws {Error} Where it takes too long: the time limit of a context stops patterns, too. */
const inTime = <Result>(run: () => Result): Result => runInNewContext('run()', { run }, { timeout: maxMs }) as Result;

describe.each(allFormats)('the time that a reply takes in the format %s', (_name, format) => {
  it.each([
    ['backticks between two marks', `</tool_call>${'`'.repeat(70)}! </tool_call>`],
    ['backticks between JSON and a mark', `{"a": 1}${'`'.repeat(70)}! </tool_call>`],
    ['brackets between a mark and JSON', `<tool_call>${']'.repeat(4000)} b c {"a": 1}`],
    ['punctuation between a mark and JSON', `<tool_call>${'-.'.repeat(2000)} b c {"a": 1}`],
  ])('is short with %s', (_title, reply) => {
    expect(inTime(() => parseReply(reply, format).calls)).toEqual([]);
  });
});
