import { describe, expect, it } from 'vitest';
import { createRng } from '../../../../../scripts/seededRandom.mjs';
import { parseReply } from '../../../../../src/chat/reply/parseReply.ts';
import { StreamableText } from '../../../../../src/chat/reply/malformed/streamableText.ts';
import { scaled } from '../../../../helpers/depth.ts';
import { mutatedReplies, replyTools, wholeReplies, type MutatedReply } from '../../../../helpers/mutatedReplies.ts';

const toolNames = new Set(['set_lamp', 'wait']);

/** What is sent of a text before its end, in pieces of some length. */
function sent(text: string, length: number): string {
  const stream = new StreamableText({ toolNames });
  let all = '';
  for (let at = 0; at < text.length; at += length) all += stream.push(text.slice(at, at + length));
  return all;
}

describe('text that can be no part of a call', () => {
  it.each([
    ['prose but its last word', 'Good evening, traveller. Sit down.', 'Good evening, traveller. Sit'],
    ['prose of a script without spaces', '今晚很冷。请坐', '今晚很冷。请坐'],
    [
      'a list in brackets, once prose follows',
      'I have [two] rooms and <b>one</b> bed left',
      'I have [two] rooms and <b>one</b> bed',
    ],
    ['code and tables, once prose follows', 'Run `ls` or:\n| a | b |\nand see', 'Run `ls` or:\n| a | b |\nand'],
    ['a name of a tool in a sentence', 'I will wait for you here', 'I will wait for you'],
    ['text before a mark', 'At once.\n<tool_call>{"name": "wait"}</tool_call>', 'At once.'],
    ['text before JSON', 'At once: {"name": "wait"} and so on it goes', 'At once'],
    [
      'text before the JSON of a list in a fence',
      'At once.\n```json\n[{"name": "wait"}]\n``` and more to say',
      'At once.',
    ],
    ['text before a call without a mark', 'At once. wait(5) and more to say', 'At once.'],
    ['text before the rest of an object', 'At once. "name": "wait", and more to say', 'At once.'],
    ['text before a broken mark', 'At once. tool_call>{"name": "wait"}', 'At once.'],
    ['text before a label of a call', 'At once. Tool call: {"name": "wait"} and more', 'At once.'],
    ['text before another label', 'At once.\nfunctools[{"name": "wait"}] and more', 'At once.'],
    ['nothing of a label', 'Function call: {"name": "wait"}', ''],
    ['nothing of a label in bold', '**Action:**\n```json\n{"name": "wait"}', ''],
    [
      'words of labels in a sentence',
      'This action, or a call of functions, is what I',
      'This action, or a call of functions, is what',
    ],
    ['nothing of a call', '<tool_call>{"name": "wait"}</tool_call> and more to say', ''],
    ['nothing of white space at the start', '\n\n Hello there', 'Hello'],
  ])('is %s', (_, text, expected) => {
    for (const length of [1, 3, 1000]) expect(sent(text, length).trimEnd()).toBe(expected);
  });

  it('is sent in linear time, also without white space', () => {
    const length = 4 * scaled(8000);
    expect(sent('x'.repeat(length), 4).length).toBeGreaterThan(length - 1000);
    expect(sent('| '.repeat(length / 2), 4).length).toBeGreaterThan(length - 1000);
  });

  it('is the beginning of the answer, of whatever reply', () => {
    expect(countDifferences(wholeReplies(scaled(400), 7))).toBe(0);
  });

  it('is hardly ever anything else where a call has mistakes, and nothing of the answer is lost', () => {
    expect(countDifferences(mutatedReplies(scaled(500), 9))).toBeLessThan(4);
  });
});

/** Of how many replies something was sent that is not the beginning of the answer. */
function countDifferences(replies: Iterable<MutatedReply>): number {
  const random = createRng(5);
  const names = new Set(replyTools.map(({ name }) => name));
  let differences = 0;
  for (const { dialect, text } of replies) {
    const stream = new StreamableText({ markup: dialect.format.markup, toolNames: names });
    let all = '';
    for (let at = 0; at < text.length;) {
      const length = 1 + random.below(9);
      all += stream.push(text.slice(at, at + length));
      at += length;
    }
    const { answer } = parseReply(text, dialect.format, { tools: replyTools });
    if (!answer.startsWith(all)) differences++;
    else expect(all + stream.rest(answer)).toBe(answer);
  }
  return differences;
}
