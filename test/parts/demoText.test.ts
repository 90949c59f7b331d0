import { describe, expect, it } from 'vitest';
import { readCatalogue, type Action } from '../../scripts/demo-model/generate/catalogue.mjs';
import { faultsOf } from '../../scripts/demo-model/generate/faults.mjs';

describe('the text that people wrote for the demo model', () => {
  it('has no fault', () => {
    expect(faultsOf(readCatalogue())).toEqual([]);
  });

  const door: Action = {
    action: 'door',
    topic: 'home',
    names: ['open_door', 'door'],
    descriptions: ['Opens a door.', 'Door control.', 'Moves a door.'],
    parameters: {
      door: { names: ['door'], type: 'string', values: ['front', 'back'] },
      open: { names: ['open'], type: 'boolean' },
      speed: { names: ['speed'], type: 'integer', values: { from: 1, to: 9 }, optional: true },
    },
    requests: ['{open=true}open the {door} door[ at {speed}]'],
  };
  const faults = (changes: Partial<Action>) =>
    faultsOf({ actions: [{ ...door, ...changes }], values: { room: ['hall'] } });

  it.each<[string, Partial<Action>, string]>([
    ['an unknown slot', { requests: ['{open=true}the {gate} and the {door}'] }, 'there is no parameter {gate}'],
    ['a slot left open', { requests: ['{open=true}let me in'] }, 'it leaves {door} open, which is not optional'],
    ['a value of another type', { requests: ['{open=wide}the {door}'] }, '{open=wide} is no value of {open}'],
    ['a boolean without words', { requests: ['{door} {open}'] }, 'nothing tells how {open} is said; give it a value'],
    ['stretches in each other', { requests: ['{open=true}{door}[ at [{speed}]]'] }, 'an optional stretch stands in'],
    ['an unknown pool', { parameters: { door: { names: ['door'], type: 'string', values: 'rooms' } } }, 'called rooms'],
    ['numbers without a range', { parameters: { door: { names: ['door'], type: 'integer' } } }, '{ "from", "to" }'],
    ['a name too few', { names: ['door'] }, 'it needs two names or more'],
  ])('is refused with the place of %s', (_, changes, fault) => {
    const [first] = faults({ requests: [], ...changes });
    expect(first).toContain('home.json, door');
    expect(first).toContain(fault);
  });
});
