import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { fuzzTarget, replyTargets } from '../../../../scripts/fuzz/replyTime.mjs';
import { nativeFormats, nativeOutputs } from '../../../../scripts/nativeLayouts.mjs';
import { nativeFormat } from '../../../../src/chat/dialect/nativeFormat.ts';
import { formats } from '../../../../src/chat/formats/index.ts';
import { chatml } from '../../../../src/chat/formats/chatml.ts';
import { parseReply } from '../../../../src/chat/reply/parseReply.ts';
import { ReasoningFilter } from '../../../../src/chat/reply/reasoning/splitReply.ts';
import { CallMarkupFilter, StreamableText } from '../../../../src/chat/reply/malformed/streamableText.ts';
import { findTrigger } from '../../../../src/chat/triggers.ts';
import { isWhole, scaled } from '../../../helpers/depth.ts';
import { createTool } from '../../../helpers/toolCalls.ts';

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

// Quadratic time would still be minutes.
const million = isWhole ? 2 ** 19 : 2 ** 18;

describe('the time that a long reply takes', () => {
  it.each([
    ['line breaks after a key whose brace is lost', `"name": "a"${'\n'.repeat(million)}"b"`],
    [
      'separators after a call without a mark',
      `lamp{"a": 1}${','.repeat(million)}${' x lamp(1) y'.repeat(million / 12)}`,
    ],
  ])('is linear in %s', (_title, reply) => {
    const tools = [createTool({ name: 'lamp' })];
    expect(inTime(() => parseReply(reply, chatml, { tools }).calls)).toEqual([]);
  });

  it.each([
    ['a mark in code that nothing closes', `\`<tool_call>${'<tool_call>'.repeat(million / 11)}`],
    ['backticks after such a mark', `\`<tool_call>${'`````` x '.repeat(million / 9)}`],
    ['a name in a mark', `<function=${'a'.repeat(million)}`],
    ['white space after a call', `<tool_call>{}</tool_call>${'\n'.repeat(2 * million)}`],
  ])('is linear in %s, in pieces', (_title, reply) => {
    const filter = new CallMarkupFilter();
    expect(inTime(() => [...pieces(reply)].map((piece) => filter.push(piece)).join('') + filter.flush())).toBeDefined();
  });

  it('is linear in white space before its text, in pieces', () => {
    const filter = new ReasoningFilter();
    const text = `${' '.repeat(million)}x`;
    expect(inTime(() => [...pieces(text)].map((piece) => filter.push(piece)).join(''))).toBe(text);
  });

  it('is short whatever its fragments', () => {
    const readers = { parseReply, CallMarkupFilter, StreamableText, ReasoningFilter };
    const targets = allFormats.flatMap(([formatName, each]) =>
      replyTargets({ formatName, format: each, marks: undefined, fragments: nativeOutputs(formatName) ?? [] }, readers),
    );
    const findings = fuzzTarget(targets, { count: scaled(10), seed: 9, growth: false });
    expect(findings.filter(({ ms }) => ms > maxMs / 2)).toEqual([]);
  });

  it('is linear where a trigger is looked for after each token', () => {
    const text = 'abc <think> d e '.repeat(million / 16);
    const triggers = [{ text: '<tool_call>', where: 'anywhere', rule: { kind: 'text', text: '' } }] as const;
    const search = (end: number) => findTrigger(text.slice(0, end), triggers, { start: 0, searchedTo: end - 5 });
    expect(inTime(() => Array.from({ length: million / 5 }, (_, index) => search(5 * index)).some(Boolean))).toBe(
      false,
    );
  });
});

function* pieces(text: string): Generator<string> {
  for (let index = 0; index < text.length; index += 5) yield text.slice(index, index + 5);
}
