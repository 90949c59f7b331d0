import { describe, expect, it } from 'vitest';
import { markEscaper } from '../../../../../src/inference/llama/sampling/sampler.ts';
import {
  createReasoningSkipper,
  ReasoningFilter,
  splitReply,
} from '../../../../../src/chat/reply/reasoning/splitReply.ts';
import { defaultReplyMarks, tagsOf, type ReplyMarks } from '../../../../../src/chat/replyMarks.ts';
import { isWhole } from '../../../../helpers/depth.ts';
import {
  channelMarks,
  harmonyMarks,
  messageMarks,
  plainMarks,
  responseMarks,
  wordMarks,
} from '../../../../helpers/replyMarks.ts';

type Case = readonly [what: string, marks: ReplyMarks, text: string, reasoning: string, content: string];

const cases: readonly Case[] = [
  ['no marks', channelMarks, 'Hello, x < y.', '', 'Hello, x < y.'],
  ['an opening mark of more than a tag', channelMarks, '<|channel>thought\na plan<channel|>Hi.', 'a plan', 'Hi.'],
  ['an empty block', channelMarks, '<|channel>thought\n<channel|>Hi.', '', 'Hi.'],
  ['a stray closing mark at the end', channelMarks, '<|channel>thought\n<channel|>Hi.<channel|>', '', 'Hi.'],
  [
    'an empty block at the end',
    channelMarks,
    '<|channel>thought\nx<channel|>Hi.<|channel>thought\n<channel|>',
    'x',
    'Hi.',
  ],
  ['the first tag of a mark twice', channelMarks, '<|channel><|channel>thought\nx<channel|>Hi.', 'x', 'Hi.'],
  ['white space after an empty block', defaultReplyMarks, '<think></think>\n\nHi.', '', 'Hi.'],
  ['a closing mark that nothing has opened', defaultReplyMarks, 'a plan</think>Hi.', 'a plan', 'Hi.'],
  ['another opening mark in reasoning', defaultReplyMarks, '<think>a <think> b</think>Hi.', 'a <think> b', 'Hi.'],
  [
    'marks around the answer',
    responseMarks,
    '<|START_THINKING|>a plan<|END_THINKING|><|START_RESPONSE|>Hi.<|END_RESPONSE|>',
    'a plan',
    'Hi.',
  ],
  ['only an answer in marks', responseMarks, '<|START_RESPONSE|>Hi.<|END_RESPONSE|>', '', 'Hi.'],
  [
    'plain words, which belong to it',
    plainMarks,
    'My steps:\na plan\n[BEGIN FINAL RESPONSE]\nHi.',
    'My steps:\na plan',
    'Hi.',
  ],
  ['plain words later on', plainMarks, 'These are My steps: go left.', '', 'These are My steps: go left.'],
  ['a plain word before the answer', wordMarks, 'all\nHi all\n.', '', 'Hi all\n.'],
  ['a word that only starts like it', wordMarks, 'allow me.', '', 'allow me.'],
  ['messages', messageMarks, '<|think|>a plan<|end|><|begin|>assistant<|content|>Hi.<|end|>', 'a plan', 'Hi.'],
  ['a message without its mark', messageMarks, 'Hi.<|end|>', '', 'Hi.'],
  [
    'messages with headers',
    harmonyMarks,
    '<|channel|>analysis<|message|>a plan<|end|><|start|>assistant<|channel|>final<|message|>Hi.',
    'a plan',
    'Hi.',
  ],
  ['another channel', harmonyMarks, '<|channel|>commentary<|message|>Hi.', '', 'Hi.'],
  ['a header with more than a channel', harmonyMarks, '<|channel|>final <|constrain|>json<|message|>{}', '', '{}'],
  [
    'a header without a message',
    harmonyMarks,
    '<|channel|>commentary to=assistant<|channel|>analysis<|message|>a plan<|end|><|start|>assistant<|channel|>final<|message|>Hi.',
    'a plan',
    'Hi.',
  ],
  [
    'a message to a tool in the channel of reasoning',
    harmonyMarks,
    '<|channel|>analysis<|message|>a plan<|end|><|start|>assistant to=functions.f<|channel|>analysis<|message|>{"a":1}',
    'a plan',
    '',
  ],
  ['a message to a tool at the start', harmonyMarks, ' to=functions.f<|channel|>commentary<|message|>{}', '', ''],
  [
    'a message to a tool, then an answer',
    harmonyMarks,
    'to=f<|channel|>x<|message|>{}<|end|><|start|>assistant<|channel|>final<|message|>Hi.',
    '',
    'Hi.',
  ],
  [
    'reasoning without an end before the next message',
    harmonyMarks,
    '<|channel|>analysis<|message|>a<|channel|>final<|message|>Hi.',
    'a',
    'Hi.',
  ],
  ['an answer without a header', harmonyMarks, 'to be or not to be', '', 'to be or not to be'],
  ['a header that is cut off', harmonyMarks, '<|channel|>anal', '', ''],
  ['a recipient that is cut off', harmonyMarks, ' to=functions.get', '', ''],
  ['a mark within which it ends', harmonyMarks, 'Hi.<|channel|', '', 'Hi.'],
  ['a closing mark within which it ends', harmonyMarks, '<|channel|>final<|message|>Hi.<|en', '', 'Hi.'],
  ['only the beginning of a mark', harmonyMarks, '<|en', '', ''],
  ['reasoning that ends within its mark', harmonyMarks, '<|channel|>analysis<|message|>a plan<|e', 'a plan', ''],
  ['what may be text at its end', harmonyMarks, 'a <|b, or <', '', 'a <|b, or <'],
  ['the beginning of a tag that is no control token', defaultReplyMarks, 'a <thin', '', 'a <thin'],
  ['a header that never ends', harmonyMarks, `<|channel|>${'x'.repeat(500)}`, '', 'x'.repeat(500)],
];

describe('a reply with', () => {
  it.each(cases)('%s is split into reasoning and content', (_, marks, text, reasoning, content) => {
    expect(splitReply(text, marks)).toMatchObject({ reasoning, content });
  });

  // A closing mark that nothing has opened is known only at the end of the text.
  it.each(cases.filter(([what]) => !what.includes('nothing has opened')))(
    '%s is split the same however it is cut',
    (_, marks, text, reasoning, content) => {
      for (let size = 1; size <= Math.min(text.length, 60); size++) {
        const filter = new ReasoningFilter(marks);
        let answer = '';
        for (let start = 0; start < text.length; start += size) answer += filter.push(text.slice(start, start + size));
        answer += filter.flush();
        expect({ size, reasoning: filter.reasoning, answer }).toEqual({ size, reasoning, answer: content });
      }
    },
  );
});

describe('reasoning that the prompt has opened', () => {
  const opened = '<think>\n';

  it('counts as reasoning up to its closing mark', () => {
    const text = 'a plan\n</think>\n\nHi.';
    expect(splitReply(opened + text)).toMatchObject({ reasoning: 'a plan', content: 'Hi.' });
  });

  it('has a second opening mark as its text', () => {
    const split = splitReply(`${opened}<think>\na plan</think>Hi.`);
    expect(split).toMatchObject({ reasoning: '<think>\na plan', content: 'Hi.' });
  });

  it('hides the whole text when it is never closed', () => {
    expect(splitReply(`${opened}on and on`)).toMatchObject({
      reasoning: 'on and on',
      content: '',
    });
  });

  it('stays in the content when it is kept, with its marks', () => {
    const split = splitReply(`${opened}a plan\n</think>\n\nHi.`, defaultReplyMarks, true);
    expect(split).toMatchObject({ reasoning: '', content: '<think>\na plan\n</think>\n\nHi.' });
  });
});

describe('kept reasoning', () => {
  it('keeps its own marks and loses those of the answer', () => {
    const response = '<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>Hi.<|END_RESPONSE|>';
    const harmony = '<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>Hi.';
    const kept = (text: string, marks: ReplyMarks): string => splitReply(text, marks, true).content;
    expect(kept(response, responseMarks)).toBe('<|START_THINKING|>a<|END_THINKING|>Hi.');
    expect(kept(harmony, harmonyMarks)).toBe('<|channel|>analysis<|message|>a<|end|>Hi.');
  });
});

describe('a random mixture of marks', () => {
  it.each([
    ['tags', defaultReplyMarks],
    ['longer marks', channelMarks],
    ['marks of the answer', responseMarks],
    ['plain words', plainMarks],
    ['a plain word', wordMarks],
    ['messages', messageMarks],
    ['headers', harmonyMarks],
  ])('of %s is split the same however it is cut', (_, marks) => {
    const random = createRandom(7);
    const pieces = [
      ...tagsOf(marks),
      ...marks.reasoning.map(({ open }) => open),
      'all\n',
      ' to=f',
      'x',
      ' ',
      '\n',
      '<',
      '<|',
    ];
    for (let round = 0; round < 400; round++) {
      const mixture = Array.from({ length: 1 + random(12) }, () => {
        const piece = pieces[random(pieces.length)] ?? '';
        return random(4) === 0 ? piece.slice(0, 1 + random(piece.length)) : piece;
      });
      const text = mixture.join('');
      const whole = new ReasoningFilter(marks);
      const expected = whole.push(text) + whole.flush();
      const cut = new ReasoningFilter(marks);
      let answer = '';
      for (let start = 0; start < text.length;) {
        const length = 1 + random(9);
        answer += cut.push(text.slice(start, start + length));
        start += length;
      }
      expect([text, answer + cut.flush(), cut.reasoning]).toEqual([text, expected, whole.reasoning]);
    }
  });
});

describe('a long reply', () => {
  // In quadratic time, each of these would take minutes.
  const repeats = isWhole ? 50_000 : 10_000;

  it.each([
    ['opening and closing marks', defaultReplyMarks, '<think></think>'],
    ['beginnings of marks', defaultReplyMarks, '<think'],
    ['closing marks', defaultReplyMarks, '</think>'],
    ['headers', harmonyMarks, '<|channel|>final<|message|>'],
    ['beginnings of headers', harmonyMarks, '<|channel|>'],
    ['starts of messages', harmonyMarks, '<|start|>assistant'],
  ])('of %s is split in linear time', (_, marks, piece) => {
    const text = piece.repeat(repeats);
    expect(splitReply(text, marks).reasoning).not.toContain('<call>');
    expect(createReasoningSkipper(text, marks)(0)).toBeGreaterThanOrEqual(0);
  });
});

describe('the marks of a model', () => {
  it('say which text is skipped', () => {
    const text = '<|channel>thought\nf()<channel|>g()';
    expect(createReasoningSkipper(text, channelMarks)(20)).toBe(text.indexOf('g()'));
    expect(createReasoningSkipper(text)(20)).toBe(20);
  });

  it.each([1, 2, 5, 100])('are no answer where the reply ends before the role of the next message: %i', (length) => {
    const start = '<|channel|>analysis<|message|>Hm.<|end|>';
    const hi = '<|start|>assistant<|channel|>commentary<|message|>Hi.<|end|>';
    for (let end = '<|start|>'.length; end <= '<|start|>assistant'.length; end++) {
      const filter = new ReasoningFilter(harmonyMarks);
      const reply = `${start}${hi}${'<|start|>assistant'.slice(0, end)}`;
      const pieces = reply.match(new RegExp(`[^]{1,${length}}`, 'g')) ?? [];
      const answer = pieces.map((piece) => filter.push(piece)).join('') + filter.flush();
      expect([answer, filter.reasoning]).toEqual(['Hi.', 'Hm.']);
    }
  });

  it('are escaped in the text of a JSON string, also where they started before', () => {
    const escape = markEscaper(channelMarks);
    const isJson = (text: string): boolean => {
      try {
        JSON.parse(`{"text": "a <chan${text}`);
        return true;
      } catch {
        return false;
      }
    };
    const escaped = escape('{"text": "a <chan', 'nel|> b <|channel>thought"}', isJson);
    expect(escaped).not.toContain('<|channel>thought');
    expect(JSON.parse(`{"text": "a <chan${escaped}`)).toEqual({ text: 'a <channel|> b <|channel>thought' });
    expect(escape('<channel|>', ' <think>', () => true)).toBeUndefined();
  });
});

/** A pseudo-random number generator: returns integers below a limit. */
function createRandom(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}
