import { describe, expect, it } from 'vitest';
import { characterMask } from '../../../../src/inference/decoding/templateRenderer.ts';

describe('a character mask', () => {
  it('masks characters and finds them again', () => {
    const masking = characterMask(['<a> [b]']);
    const masked = masking.mask('<a> [b] <c>', [0, 4, 8]);
    expect(masked).not.toMatch(/[<[]/);
    expect(masking.maskedOffsets(`>>${masked}`)).toEqual([2, 6, 10]);
    expect(masking.unmask(masked)).toBe('<a> [b] <c>');
  });

  it('keeps private-use characters of the texts', () => {
    const text = '\uE000<\uE001\uE002';
    const masking = characterMask([text]);
    const masked = masking.mask(text, [1]);
    expect(masking.maskedOffsets(masked)).toEqual([1]);
    expect(masking.unmask(masked)).toBe(text);
  });

  it('rejects texts that use all private-use characters', () => {
    const all = Array.from({ length: 0x1900 }, (_, index) => String.fromCharCode(0xe000 + index)).join('');
    expect(() => characterMask([all]).mask('<', [0])).toThrow('private-use');
  });
});
