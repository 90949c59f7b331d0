import { describe, expect, it } from 'vitest';
import { StopStringFilter } from '../../../src/engine/stopStrings.ts';

function pass(stops: readonly string[], pieces: readonly string[]): { sent: readonly string[]; hit: boolean } {
  const guard = new StopStringFilter(stops);
  const sent = pieces.map((piece) => guard.push(piece));
  return { sent: [...sent, guard.flush()], hit: guard.matched };
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
    expect(pass(stops, pieces)).toEqual({ sent, hit });
  });

  it('cut a text at the same place however it comes in pieces', () => {
    const text = 'The lamp shines. User: and so on. The end.';
    const stops = ['User:', 'amp shines. User', 's.'];
    for (let size = 1; size <= text.length; size++) {
      const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
        text.slice(at * size, (at + 1) * size),
      );
      expect(pass(stops, pieces).sent.join('')).toBe('The lamp shine');
    }
  });
});
