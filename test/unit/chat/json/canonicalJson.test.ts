import { describe, expect, it } from 'vitest';
import { canonicalJson } from '../../../../src/chat/json/value.ts';
import { parseJsonAt } from '../../../../src/chat/json/lenientParser.ts';

function canonical(text: string): string {
  const parsed = parseJsonAt(text, 0);
  if (!parsed.ok) throw new Error(`no JSON: ${text}`);
  return canonicalJson(parsed.value);
}

describe('canonical JSON', () => {
  it.each([
    ['{"a": 1, "b": [true, null]}', '{"b":[true,null],"a":1}'],
    ['{"a": {"b": 1, "c": 2}}', '{"a": {"c": 2, "b": 1}}'],
    ['1', '1.0'],
    ['1', '1e0'],
    ['1200', '1.2E+3'],
    ['-0.050', '-5e-2'],
    ['0', '-0.00e7'],
    ['[100, 1]', '[1e2, 1.000]'],
  ])('of %s is that of %s', (a, b) => {
    expect(canonical(a)).toBe(canonical(b));
  });

  it.each([
    ['1', '"1"'],
    ['1', '10'],
    ['1', '-1'],
    ['0.1', '0.01'],
    ['9007199254740992', '9007199254740993'],
    ['1e999', '1e1000'],
    ['[1, 2]', '[2, 1]'],
    ['[1e1234567890123456]', '[1e1234567890123457]'],
    ['{"a": null}', '{}'],
  ])('of %s is not that of %s', (a, b) => {
    expect(canonical(a)).not.toBe(canonical(b));
  });
});
