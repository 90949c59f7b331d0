import { describe, expect, it } from 'vitest';
import { checkGraph } from '../../../src/index.ts';
import { graphNameFault, graphStarts, newGraphText } from '../../../playground/src/app/newGraph.ts';

describe('a new graph of the playground', () => {
  it.each(graphStarts)('has neither faults nor warnings: $label', async (start) => {
    const result = await checkGraph(JSON.parse(newGraphText(start, 'turngraph-demo')) as object);
    expect(result).toEqual({ faults: [], warnings: [] });
  });

  it('names no model where none is chosen', () => {
    for (const start of graphStarts) expect(newGraphText(start, '')).not.toContain('default_model_name');
  });

  it.each([
    ['', /Give the graph a name/],
    ['  ', /Give the graph a name/],
    ['a/b', /none of/],
    ['what?', /none of/],
  ])('cannot have the name "%s"', (name, fault) => {
    expect(graphNameFault(name)).toMatch(fault);
  });

  it('can have a name with spaces and dots', () => {
    expect(graphNameFault('my graph 2.0')).toBeUndefined();
  });
});
