import { describe, expect, it } from 'vitest';
import { react } from '../../../../src/chat/formats/react.ts';
import { parseReply, type ParsedReply } from '../../../../src/chat/reply/parseReply.ts';
import { isWhole, scaled } from '../../../helpers/depth.ts';
import { mutatedReplies, reactDialect, replyTools, wholeReplies } from '../../../helpers/mutatedReplies.ts';

/*
 * What counts as a keyword in an answer: one at the start of a line; `Action:` also behind other text, if the name of a tool
 * follows it; and the beginning of `Action`, at least four characters of it, as the last line.
 */
const names = replyTools.map(({ name }) => name).join('|');
const atLineStart = /^[ \t]*(?:Action|Action Input|Observation|Thought|Final Answer):/m;
const inLine = new RegExp(`(?<![\\w\`])Action: ?(?:${names})\\b`);
const cutOff = /(?:^|\n)(?:Action Input|Action Inpu|Action Inp|Action In|Action I|Action ?|Actio|Acti)$/;

const keywordIn = (text: string): string | undefined => (atLineStart.exec(text) ?? inLine.exec(text))?.[0];

const opens = new RegExp(`^Action: ?(?:${names})$`, 'm');
const read = (text: string): ParsedReply => parseReply(text, react, { tools: replyTools });

describe('replies in react', () => {
  it('give each call as the model wrote it', () => {
    for (const { text } of wholeReplies(scaled(400), 5, reactDialect)) {
      expect(keywordIn(text), text).toBeDefined();
      const { calls, unread, answer } = read(text);
      const written = text.match(/Action:/g)?.length;
      expect(calls.length, text).toBe(written);
      expect(unread, text).toEqual([]);
      expect(
        calls.some(({ repaired }) => repaired),
        text,
      ).toBe(false);
      expect(keywordIn(answer), text).toBeUndefined();
    }
  });

  it('with mistakes put no keyword into the answer, and lose no call that they open', () => {
    const count = isWhole ? 500 : 200;
    let [withCalls, withUnread] = [0, 0];
    for (const { text } of mutatedReplies(count, 20, reactDialect)) {
      // Tags of other formats within keywords are another matter.
      if (/<|\[[A-Z]/.test(text)) continue;
      const { calls, unread, answer, content } = read(text);
      expect(keywordIn(answer), text).toBeUndefined();
      if (opens.test(text)) expect(calls.length + unread.length, text).toBeGreaterThan(0);
      for (const call of unread) expect(call.text.trim(), text).not.toBe('');
      for (const call of unread) if (call.reason !== madeUp) expect(content, text).toContain(call.text);
      withCalls += Number(calls.length > 0);
      withUnread += Number(unread.length > 0);
    }
    expect(Math.min(withCalls, withUnread)).toBeGreaterThan(count / 8);
  });

  it('that are cut off put no keyword into the answer, wherever the cut is', () => {
    for (const { text } of wholeReplies(isWhole ? 3 : 1, 7, reactDialect))
      for (let length = 0; length <= text.length; length++) {
        const cut = text.slice(0, length);
        const { calls, unread, answer } = read(cut);
        expect(keywordIn(answer) ?? cutOff.exec(answer)?.[0], cut).toBeUndefined();
        if (opens.test(cut)) expect(calls.length + unread.length, cut).toBeGreaterThan(0);
      }
  });
});

const madeUp = 'it goes on with a result that it made up';

describe('the time that react takes', () => {
  it.each([
    'Action:',
    'Action:\n',
    'Action: x\nAction Input: {',
    'Action: x\nAction Input: {"a": "',
    'Action: x Action Input: {} ',
    'Thought: Final Answer: ',
    'Thought: <think>\n',
    'Observation:',
    '\n** ',
    'Acti\n',
  ])('is linear in the text: %j', (unit) => {
    const { residual } = react.detect(unit.repeat(scaled(10_000)), { tools: replyTools });
    expect(residual.length).toBeLessThanOrEqual(unit.length * 32_000);
  });
});
