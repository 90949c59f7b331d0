import { describe, expect, it } from 'vitest';
import { placeTemplate, placements } from '../../../../src/graph/projection/placement.ts';

describe('the placement of a template', () => {
  it.each(placements.map((placement) => [placement] as const))('can be %s', (placement) => {
    const rendered = placeTemplate('MESSAGE', { text: 'TEMPLATE', placement }).map(
      ({ role, text }) => `${role} ${text}`,
    );
    expect(rendered).toEqual(
      {
        in_place_of_user: ['user TEMPLATE'],
        before_user_as_system: ['system TEMPLATE', 'user MESSAGE'],
        before_user_as_user: ['user TEMPLATE', 'user MESSAGE'],
        after_user_as_system: ['user MESSAGE', 'system TEMPLATE'],
        after_user_as_user: ['user MESSAGE', 'user TEMPLATE'],
      }[placement],
    );
  });

  it('has no effect when the template renders to an empty text', () => {
    expect(placeTemplate('MESSAGE', { text: '', placement: 'in_place_of_user' })).toEqual([
      { role: 'user', text: 'MESSAGE' },
    ]);
  });
});
