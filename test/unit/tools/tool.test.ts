import { describe, expect, it } from 'vitest';
import { readTool } from '../../../src/tools/tool.ts';

describe('a tool is rejected', () => {
  const errorsOf = (parameters: object): string[] => {
    const reading = readTool({ name: 'f', description: 'd', parameters: parameters as never, consequential: false });
    return reading.ok ? [] : reading.errors.map(({ pointer, message }) => `${pointer} ${message}`);
  };
  const destination = { type: 'object', properties: { city: { type: 'string' } }, required: true };

  it.each<[string, object, string]>([
    ['of an object', { type: 'object', properties: { to: destination } }, '/parameters/properties/to/required'],
    [
      'of an item of a list',
      { type: 'object', properties: { stops: { type: 'array', items: destination } } },
      '/parameters/properties/stops/items/required',
    ],
    [
      'of an item of a parameter',
      [{ name: 'stops', type: 'array', items: destination }],
      '/parameters/0/items/required',
    ],
  ])('when required %s is no list', (_, parameters, pointer) => {
    expect(errorsOf(parameters)).toEqual([`${pointer} must be a list of names`]);
  });
});
