import { describe, expect, it } from 'vitest';
import { parseReply, type ParsedReply } from '../../../../../src/chat/reply/parseReply.ts';
import { isWhole, scaled } from '../../../../helpers/depth.ts';
import { dialects, mutatedReplies, replyTools, wholeReplies } from '../../../../helpers/mutatedReplies.ts';

/*
 * What counts as markup of a call, said a second time without the code that is tested:
 *
 * - a tag of the list below; the tags of a native layout only in replies of that layout;
 * - the beginning of such a tag, at least three characters of it, at the end of the text;
 * - a key "name", "tool" or "function", with or without its quotes, and the name of a declared tool after it;
 * - a key "arguments", "parameters", "args" or "input", and the opening brace of an object after it.
 *
 * What counts as the opening of a call: an opening tag, or `{"name": "` or `{"tool": "` and the name of a declared tool.
 *
 * Text in Markdown code (one or two backticks) is a quotation and counts as neither. An object that is well-formed JSON and
 * has no key of a call is data: what its strings say counts as neither.
 */
const opening = ['<tool_call>', '<|tool_call|>', '<function_call>', '<|python_tag|>', '[TOOL_CALLS]', '<function='];
const closing = ['</tool_call>', '<|/tool_call|>', '</function_call>', '[/TOOL_CALLS]', '</function>'];
const nativeTags: Readonly<Record<string, { readonly opening: readonly string[]; readonly other: readonly string[] }>> =
  {
    'native namedJson': { opening: ['<calls>', '<call>'], other: ['</calls>', '</call>', '<args>'] },
    'native linesInTags': { opening: ['<tool>', '<do='], other: ['</tool>', '</do>', '<arg=', '</arg>'] },
    'native keyValue': { opening: ['<tool>'], other: ['</tool>', '<|s|>'] },
    'native pythonInTags': { opening: ['<calls>'], other: ['</calls>'] },
    'native jsonList': { opening: ['<calls>'], other: ['</calls>'] },
    'native nameInMarks': { opening: [], other: ['[ARGS]'] },
    'native nameInId': { opening: ['<|calls|>', '<|call|>'], other: ['<|/calls|>', '<|args|>', '<|/call|>'] },
    'native lines': { opening: ['<act>', '<to='], other: ['</act>', '</to>', '<arg=', '</arg>'] },
    'native typedAttributes': { opening: ['<acts>', '<to name='], other: ['</acts>', '</to>', '<arg name=', '</arg>'] },
    'native stringMarks': { opening: ['<|act>'], other: ['<act|>', '<|"|>'] },
    'native python': { opening: ['<|acts|>'], other: ['<|/acts|>'] },
    'native channel': { opening: [], other: ['<|channel|>', '<|format|>', '<|message|>', '<|call|>'] },
  };
const names = replyTools.map(({ name }) => name).join('|');
const namedTool = new RegExp(`["']?(?:name|tool|function)["']?\\s*:\\s*["']?(?:${names})\\b`);
const givenArguments = /["'](?:arguments|parameters|args|input)["']\s*:\s*\{/;
const bareCall = new RegExp(`\\{"(?:name|tool)": "(?:${names})"`);

const openingTags = (dialect: string): readonly string[] => [...opening, ...(nativeTags[dialect]?.opening ?? [])];
/** All tags of a dialect, and their beginnings. */
const tagsOf = new Map(
  dialects.map(({ name }) => {
    const tags = [...openingTags(name), ...closing, ...(nativeTags[name]?.other ?? [])];
    const parts = tags.flatMap((tag) => Array.from(tag, (_, length) => tag.slice(0, length)));
    return [name, { tags, beginnings: new Set(parts.filter(({ length }) => length > 2)) }] as const;
  }),
);
const maxTagLength = 24;

/** The markup in an answer; undefined: it has none. */
function markupIn(answer: string, dialect: string): string | undefined {
  const text = withoutData(withoutQuotations(answer));
  const { tags = [], beginnings = new Set() } = tagsOf.get(dialect) ?? {};
  const tag = tags.find((known) => text.includes(known));
  const ends = Array.from({ length: maxTagLength }, (_, length) => answer.slice(-length - 1));
  const cutOff = ends.find((end) => beginnings.has(end) && text.endsWith(end));
  return tag ?? cutOff ?? namedTool.exec(text)?.[0] ?? givenArguments.exec(text)?.[0];
}

function hasOpening(reply: string, dialect: string): boolean {
  const text = withoutQuotations(reply);
  return bareCall.test(text) || openingTags(dialect).some((tag) => text.includes(tag));
}

/** A text without Markdown code of one or two backticks; the last of it may be cut off. */
function withoutQuotations(text: string): string {
  let rest = '';
  let from = 0;
  const runs = [...text.matchAll(/`+/g)].map((run) => ({ start: run.index, length: run[0].length }));
  for (const [index, { start, length }] of runs.entries()) {
    if (length > 2 || start < from) continue;
    const paragraphEnd = text.indexOf('\n\n', start);
    const end = runs.slice(index + 1).find((run) => run.length === length);
    const isClosed = end && (paragraphEnd < 0 || end.start < paragraphEnd);
    const content = text.slice(start + length);
    const isCutOff = paragraphEnd < 0 && (/^[<[{]/.test(content) || !content.includes('\n'));
    if (!isClosed && !isCutOff) continue;
    rest += text.slice(from, start);
    from = isClosed ? end.start + length : text.length;
  }
  return rest + text.slice(from);
}

/** A text without the objects in it that are data. */
const withoutData = (text: string): string => text.replaceAll(/\{.*\}/g, (object) => (isData(object) ? '' : object));

function isData(object: string): boolean {
  try {
    const keys = Object.keys(JSON.parse(object) as object);
    return !keys.some((key) => /name|tool|function|arguments|parameters|args|[<[]/.test(key));
  } catch {
    return false;
  }
}

const read = (text: string, { format }: (typeof dialects)[number]): ParsedReply =>
  parseReply(text, format, { tools: replyTools });

const describeReply = (text: string, dialect: string, { answer, calls, unread }: ParsedReply): string =>
  JSON.stringify({ dialect, text, answer, calls: calls.map(({ raw }) => raw), unread });

describe('the definition of markup', () => {
  it('finds it in each reply as the model wrote it', () => {
    for (const { dialect, text } of wholeReplies(scaled(400), 5)) {
      const isPython = dialect.name.includes('python') || dialect.name.includes('stringMarks');
      expect(hasOpening(text, dialect.name) || isPython || dialect.name === 'native channel', text).toBe(true);
      expect(markupIn(text, dialect.name), text).toBeDefined();
    }
  });

  it.each(['`<tool_call>`', 'So: {"say": "<tool_call>"}', 'a < b', 'The name: set it.'])('is not met by %s', (text) => {
    expect(markupIn(text, 'chatml')).toBeUndefined();
  });
});

describe('replies with mistakes', () => {
  it('put no markup of a call into the answer, and lose no call that they open', () => {
    const failures: string[] = [];
    const count = isWhole ? 1000 : 500;
    let [withCalls, withUnread, withBoth] = [0, 0, 0];
    for (const { dialect, text } of mutatedReplies(count, 20)) {
      const reply = read(text, dialect);
      const isLost = hasOpening(text, dialect.name) && reply.calls.length + reply.unread.length === 0;
      if (isLost || markupIn(reply.answer, dialect.name) !== undefined)
        failures.push(describeReply(text, dialect.name, reply));
      withCalls += Number(reply.calls.length > 0);
      withUnread += Number(reply.unread.length > 0);
      withBoth += Number(reply.calls.length > 0 && reply.unread.length > 0);
    }
    expect(failures).toEqual([]);
    // The mistakes are of all kinds: some can be read over, others not.
    expect(Math.min(withCalls, withUnread, withBoth)).toBeGreaterThan(count / 10);
  });

  it('have all that they say in the answer, the calls or the markup that gave none', () => {
    for (const { dialect, text } of mutatedReplies(isWhole ? 500 : 100, 21)) {
      const { calls, content, answer, unread } = read(text, dialect);
      for (const call of unread) {
        expect(call.text.trim(), text).not.toBe('');
        expect(call.reason, text).not.toBe('');
        expect(content, text).toContain(call.text);
      }
      if (calls.length > 0) continue;
      // Without calls, nothing but white space is lost.
      let rest = content;
      for (const call of unread) rest = rest.replace(call.text, '\n');
      expect(answer.replaceAll(/\s+/g, ''), text).toBe(rest.replaceAll(/\s+/g, ''));
    }
  });
});

describe('replies that are cut off', () => {
  it.each(dialects.map((dialect) => [dialect.name, dialect] as const))(
    'put no markup into the answer, wherever the cut is: %s',
    (name, dialect) => {
      for (const { text } of wholeReplies(isWhole ? 2 : 1, 7, dialect))
        for (let length = 0; length <= text.length; length++) {
          const cut = text.slice(0, length);
          const reply = read(cut, dialect);
          const isLost = hasOpening(cut, name) && reply.calls.length + reply.unread.length === 0;
          if (isLost || markupIn(reply.answer, name) !== undefined) expect.fail(describeReply(cut, name, reply));
        }
    },
  );
});
