import { describe, expect, it } from 'vitest';
import { isWellFormed } from '../../../../src/protocol/codec/wellFormed.ts';
import { textSplitter } from '../../../../src/inference/decoding/textSplitter.ts';

const splitter = ({
  lookedUp = [],
  words = ['Ġthe', 'ing'],
  addsLeadingSpace = false,
}: {
  readonly lookedUp?: readonly string[];
  readonly words?: readonly string[];
  readonly addsLeadingSpace?: boolean;
} = {}) => textSplitter({ lookedUp, words, addsLeadingSpace });

const piecesOf = (text: string, rules?: Parameters<typeof splitter>[0]): string[] =>
  [...splitter(rules)(text)].map((piece) => piece.text);

describe('splitting a text for the tokenizer', () => {
  it('leaves a short text as it is', () => {
    expect([...splitter()('')]).toEqual([{ text: '', continuesWord: false }]);
    expect(piecesOf('one two')).toEqual(['one two']);
  });

  it('cuts before single spaces', () => {
    const text = 'some words and  more  '.repeat(1000);
    const pieces = piecesOf(text);
    expect(pieces.join('')).toBe(text);
    expect(pieces.length).toBeGreaterThan(4);
    for (const piece of pieces.slice(1)) expect(piece).toMatch(/^ (?! )/);
    for (const piece of pieces) expect(piece.length).toBeLessThanOrEqual(4096);
  });

  it('leaves out the space where the tokenizer adds one', () => {
    const text = 'some words '.repeat(1000).trim();
    expect(piecesOf(text, { addsLeadingSpace: true }).join(' ')).toBe(text);
  });

  it('does not cut where a token of the vocabulary reaches across', () => {
    const pieces = piecesOf('some words '.repeat(1000), { words: ['eĠw', '▁the'] });
    for (const piece of pieces.slice(1)) expect(piece).toMatch(/^ some/);
  });

  it('cuts after tokens that are looked up, never inside one', () => {
    const pieces = piecesOf('": "'.repeat(3000), { lookedUp: ['": "'] });
    expect(pieces.every((piece) => /^(": ")+$/.test(piece))).toBe(true);
    const phrases = piecesOf('one of these '.repeat(1000), { lookedUp: ['one of these '] });
    for (const piece of phrases) expect(piece).toMatch(/^(one of these )*$/);
  });

  it.each([2, 7, 31, 32])('cuts a long run between the longest tokens of up to %i spaces', (longest) => {
    const lookedUp = Array.from({ length: longest }, (_, index) => '▁'.repeat(index + 1)).filter(
      ({ length }) => length > 1,
    );
    for (const before of ['', 'a', '\n\n']) {
      const pieces = piecesOf(before + ' '.repeat(50_000), { lookedUp });
      expect(pieces.length).toBeLessThan(26);
      expect(pieces.join('')).toBe(before + ' '.repeat(50_000));
      const [first = '', ...others] = pieces.slice(0, -1);
      expect((first.length - before.length) % longest).toBe(0);
      for (const piece of others) expect(piece.length % longest).toBe(0);
    }
  });

  it('cuts no character of a long run of looked-up emoji, and is fast if a token is longer than a piece', () => {
    const lookedUp = ['🎉🎉', '🎉🎉🎉', 'ab'.repeat(3000)];
    for (const text of ['🎉'.repeat(5000), 'ab'.repeat(5000)]) {
      const pieces = piecesOf(text, { lookedUp });
      expect(pieces.join('')).toBe(text);
      expect(pieces.every((piece) => isWellFormed(piece))).toBe(true);
      expect(pieces.length).toBeLessThan(20);
    }
  });

  it('cuts words that are too long, but no character', () => {
    const pieces = [...splitter()(`a${'🎉'.repeat(10_000)}`)];
    expect(pieces.every(({ text }) => isWellFormed(text))).toBe(true);
    expect(pieces.slice(1).every(({ continuesWord }) => continuesWord)).toBe(true);
  });

  it('keeps the first pieces of a text that grows', () => {
    const text = 'some words '.repeat(2000);
    const grown = piecesOf(`${text}and others`);
    expect(grown.slice(0, -1)).toEqual(piecesOf(text).slice(0, -1));
  });
});
