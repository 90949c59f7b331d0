import { describe, expect, it } from 'vitest';
import { EmittedText } from '../../../../src/inference/decoding/streamingDetokenizer.ts';

function filter(stops: readonly string[], pieces: readonly string[]): { sent: readonly string[]; hit: boolean } {
  const sent: string[] = [];
  const text = new EmittedText({ sampling: { stop: stops }, onText: (piece) => (sent[sent.length - 1] += piece) });
  for (const piece of pieces) {
    sent.push('');
    text.emit(piece, false);
  }
  sent.push('');
  text.end();
  return { sent, hit: text.stopped };
}

describe('stop strings', () => {
  it.each([
    { stops: [], pieces: ['a', 'b'], sent: ['a', 'b', ''], hit: false },
    { stops: [''], pieces: ['a', 'b'], sent: ['a', 'b', ''], hit: false },
    { stops: ['x'], pieces: ['ab', 'cd'], sent: ['ab', 'cd', ''], hit: false },
    { stops: ['cd'], pieces: ['abcdef', 'gh'], sent: ['ab', '', ''], hit: true },
    { stops: ['cde'], pieces: ['abc', 'd', 'ef'], sent: ['ab', '', '', ''], hit: true },
    { stops: ['cde'], pieces: ['abc', 'd', 'xf'], sent: ['ab', '', 'cdxf', ''], hit: false },
    { stops: ['cde'], pieces: ['abc', 'd'], sent: ['ab', '', 'cd'], hit: false },
    { stops: ['aab'], pieces: ['a', 'a', 'a', 'b'], sent: ['', '', 'a', '', ''], hit: true },
    { stops: ['long stop', 'st'], pieces: ['a long s', 'top'], sent: ['a ', 'long ', ''], hit: true },
    { stops: ['\n\n', '###'], pieces: ['a\n', 'b#', '#c\n\nd'], sent: ['a', '\nb', '##c', ''], hit: true },
  ])('$stops cut $pieces into $sent', ({ stops, pieces, sent, hit }) => {
    expect(filter(stops, pieces)).toEqual({ sent, hit });
  });

  it('cut a text at the same offset for any piece length', () => {
    const text = 'The lamp shines. User: and so on. The end.';
    const stops = ['User:', 'amp shines. User', 's.'];
    for (let size = 1; size <= text.length; size++) {
      const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
        text.slice(index * size, (index + 1) * size),
      );
      expect(filter(stops, pieces).sent.join('')).toBe('The lamp shine');
    }
  });
});
