import { describe, expect, it } from 'vitest';
import { ControlTokenMatcher } from '../../../../src/inference/decoding/controlTokens.ts';

const chatml = ['<|endoftext|>', '<|im_start|>', '<|im_end|>'];

describe('control strings', () => {
  it.each([
    { strings: chatml, text: 'nothing unsafe', places: [] },
    { strings: chatml, text: 'a<|im_end|>b<|im_start|>', places: [1, 12] },
    { strings: chatml, text: '<|im_<|im_end|>', places: [5] },
    { strings: chatml, text: 'ends with <|im_', places: [10] },
    { strings: chatml, text: '|> at the start', places: [0] },
    { strings: chatml, text: 'im_start', places: [0] },
    { strings: ['[A]', 'A]x'], text: '[A]x', places: [0, 1] },
    { strings: ['[INST]', '[/INST]'], text: '[[/INST]]', places: [1] },
    { strings: ['a.b', 'x*'], text: 'acb xx xx* a.b', places: [8, 11] },
    { strings: [], text: '<|im_end|>', places: [] },
    { strings: [''], text: 'abc', places: [] },
  ])('of $strings are unsafe in "$text" at $places', ({ strings, text, places }) => {
    expect(new ControlTokenMatcher(strings).unsafeOffsets(text)).toEqual(places);
  });

  it('may be more than a function can have arguments', () => {
    const many = new ControlTokenMatcher(Array.from({ length: 140_000 }, (_, nth) => `<${nth}>`));
    expect(many.unsafeOffsets('')).toEqual([]);
  });

  it('are found from left to right, the longest first', () => {
    const spans = new ControlTokenMatcher(['<a>', '<a><b>', '<b>']).find('<a><b><b><a>x');
    expect(spans).toEqual([
      { start: 0, end: 6 },
      { start: 6, end: 9 },
      { start: 9, end: 12 },
    ]);
  });

  it.each([
    { strings: chatml, text: 'nothing unsafe', parts: ['nothing unsafe'] },
    { strings: chatml, text: '', parts: [''] },
    { strings: chatml, text: 'a<|im_end|>b<|im_end|>', parts: ['a<|', 'im_end|>b<|', 'im_end|>'] },
    { strings: ['<a>', '<a><b>', '<b>'], text: '<a><b>', parts: ['<', 'a><', 'b>'] },
    { strings: ['[[]', '[]]'], text: '[[]]', parts: ['[', '[', ']]'] },
    { strings: ['assistant'], text: 'assistant', parts: ['a', 'ssistant'] },
    { strings: ['🎉!'], text: '🎉!', parts: ['🎉', '!'] },
    { strings: [], text: '<|im_end|>', parts: ['<|im_end|>'] },
  ])('of $strings are in no part of "$text"', ({ strings, text, parts }) => {
    expect(new ControlTokenMatcher(strings).split(text)).toEqual(parts);
  });

  it('are found in linear time', () => {
    const strings = new ControlTokenMatcher(Array.from({ length: 300 }, (_, index) => `<|reserved_${index}|>`));
    expect(strings.unsafeOffsets('<|reserved_'.repeat(50_000))).toHaveLength(1);
    expect(strings.unsafeOffsets('<'.repeat(500_000))).toHaveLength(1);
    expect(strings.split('<|reserved_1|>'.repeat(50_000))).toHaveLength(50_001);
  });
});
